/*
 * A C program, without libstdc++, that loads a C++ plugin RTLD_LOCAL: the next `operator new` is
 * not to be found from here. Its argument is the plugin.
 *
 * EXPECT plugin_succeed: calls=6 leaked_blocks=1 leaked_bytes=48
 * EXPECT host_work: calls=1 total_bytes=10 leaked_blocks=1
 */
#include "sample.h"

#include <dlfcn.h>

static NOINLINE void host_work(void)
{
	keep(malloc(10));
	STAY();
}

int main(int argc, char **argv)
{
	void *plugin;
	int (*work)(void);

	REQUIRE(argc == 2);
	REQUIRE(!dlsym(RTLD_DEFAULT, "_ZTVN10__cxxabiv117__class_type_infoE"));
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	REQUIRE(plugin);
	*(void **)&work = dlsym(plugin, "plugin_work");
	REQUIRE(work && work() == 42);
	host_work();
	REQUIRE(dlclose(plugin) == 0);
	puts("ok");
	return 7;
}
