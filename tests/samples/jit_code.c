/*
 * Makes code at run time, which allocates, and lists it for perf as such programs do:
 *
 *	jit_code [IMAGES]     1 by default; each image executes the next, in the same process
 *
 * Image n allocates n000 + 100 bytes from "old_code", 200 from "new_code in a file.js:12", listed
 * later than other code at the same place, and 300 from "_Z9mangle_mev", listed inside of other
 * code.
 */
#include "sample.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_SIZE 64

typedef void *allocate(size_t size);

/* push rbp; mov rbp, rsp; mov rax, malloc; call rax; pop rbp; ret */
static allocate *write_code(uint8_t *at)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
	static const uint8_t end[] = {0xff, 0xd0, 0x5d, 0xc3};
	void *(*function)(size_t) = malloc;

	memcpy(at, begin, sizeof(begin));
	memcpy(at + sizeof(begin), &function, sizeof(function));
	memcpy(at + sizeof(begin) + sizeof(function), end, sizeof(end));
	return (allocate *)(uintptr_t)at;
}

static void list(const void *code, size_t size, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());

	FILE *map = fopen(path, "a");

	REQUIRE(map);
	fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, name);
	fclose(map);
}

int main(int argc, char **argv)
{
	int images = argc > 1 ? atoi(argv[1]) : 1;
	int number = argc > 2 ? atoi(argv[2]) : 1;
	uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED);

	allocate *first = write_code(pages), *second = write_code(pages + 4096),
		 *third = write_code(pages + 8192);
	size_t base = (size_t)number * 1000;

	list(pages, CODE_SIZE, "old_code");
	keep(first(base + 100));
	list(pages + 4096, CODE_SIZE, "dropped_code");
	list(pages + 4096, CODE_SIZE, "new_code in a file.js:12");
	keep(second(base + 200));
	list(pages + 8192, 4096, "covering_code");
	list(pages + 8192, CODE_SIZE, "_Z9mangle_mev");
	keep(third(base + 300));
	if (number < images) {
		char next[16];

		snprintf(next, sizeof(next), "%d", number + 1);
		execl("/proc/self/exe", argv[0], argv[1], next, (char *)NULL);
		return 1;
	}
	return 0;
}
