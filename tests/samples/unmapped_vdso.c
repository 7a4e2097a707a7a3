/*
 * A program that takes the kernel's own object out of its memory, code and data: sandboxes and
 * checkpointing do. Nothing that reads a clock by the C library is called afterwards.
 *
 *	unmapped_vdso HOW PLUGIN      munmap, mremap, syscall, mmap
 *
 * The plugin is a C++ library: its operators are looked up by name when they are first called,
 * which is afterwards.
 *
 * EXPECT before: calls=100 total_bytes=1000 leaked_blocks=0
 * EXPECT after: calls=100 total_bytes=2000 leaked_blocks=0
 * EXPECT in_thread: calls=100 total_bytes=3000 leaked_blocks=0 threads=1
 * EXPECT plugin_succeed: calls=6 leaked_blocks=1 leaked_bytes=48
 */
#include "sample.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void pairs(size_t size)
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(size)));
}

static NOINLINE void before(void)
{
	pairs(10);
	STAY();
}

static NOINLINE void after(void)
{
	pairs(20);
	STAY();
}

static NOINLINE void *in_thread(void *argument)
{
	pairs(30);
	STAY();
	return argument;
}

static void take_away(const char *how, void *start, size_t length)
{
	void *elsewhere = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(elsewhere != MAP_FAILED);
	if (!strcmp(how, "munmap"))
		REQUIRE(munmap(start, length) == 0);
	else if (!strcmp(how, "syscall"))
		REQUIRE(syscall(SYS_munmap, start, length) == 0);
	else if (!strcmp(how, "mmap"))
		REQUIRE(mmap(start, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			     0) == start);
	else
		REQUIRE(mremap(start, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) ==
			elsewhere);
}

/* Each mapping that is the kernel's; the one with the code is known by its address, too. */
static void take_away_all(const char *how)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long ranges[8][2];
	char line[512];
	int count = 0;
	int code = 0;

	REQUIRE(maps);
	while (count < 8 && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]") || strstr(line, "[vvar"))
			count += sscanf(line, "%lx-%lx", &ranges[count][0], &ranges[count][1]) == 2;
	fclose(maps);
	for (int i = 0; i < count; i++) {
		code += ranges[i][0] == getauxval(AT_SYSINFO_EHDR);
		take_away(how, (void *)ranges[i][0], ranges[i][1] - ranges[i][0]);
	}
	REQUIRE(code == 1);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *plugin;
	int (*work)(void);

	REQUIRE(argc == 3);
	plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	REQUIRE(plugin);
	*(void **)&work = dlsym(plugin, "plugin_work");
	before();
	take_away_all(argv[1]);
	after();
	REQUIRE(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	REQUIRE(work && work() == 42);
	puts("ok");
	return 7;
}
