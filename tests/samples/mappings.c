/* Every way to get memory from the kernel that libc offers; prints what happened as JSON lines. */
#include "sample.h"

#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 65536 /* no system has larger ones */

static NOINLINE void map(void)
{
	char *a = mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b;

	REQUIRE(a != MAP_FAILED);
	printf("{\"kind\": \"mmap\", \"address\": %lu, \"length\": %d, \"protection\": 3, "
	       "\"flags\": 34, \"fd\": -1, \"offset\": 0}\n",
	       (unsigned long)a, 10 * PAGE);
	REQUIRE(munmap(a + 5 * PAGE, PAGE) == 0);
	printf("{\"kind\": \"munmap\", \"address\": %lu, \"length\": %d}\n",
	       (unsigned long)(a + 5 * PAGE), PAGE);
	b = mremap(a, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 6 * PAGE);
	REQUIRE(b == a + 6 * PAGE);
	printf("{\"kind\": \"mremap\", \"old_address\": %lu, \"old_length\": %d, \"address\": "
	       "%lu, "
	       "\"length\": %d, \"flags\": 3}\n",
	       (unsigned long)a, PAGE, (unsigned long)b, 2 * PAGE);
	REQUIRE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED);
	STAY();
}

static NOINLINE void move_break(void)
{
	char *top = sbrk(0);

	REQUIRE(sbrk(8192) == top);
	printf("{\"kind\": \"brk\", \"increment\": 8192, \"address\": %lu}\n",
	       (unsigned long)(top + 8192));
	REQUIRE(brk(top) == 0);
	printf("{\"kind\": \"brk\", \"increment\": -8192, \"address\": %lu}\n", (unsigned long)top);
	STAY();
}

static NOINLINE void tune(void)
{
	REQUIRE(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
	printf("{\"kind\": \"mallopt\", \"parameter\": %d, \"value\": %d, \"result\": 1}\n",
	       M_MMAP_THRESHOLD, 1 << 20);
	STAY();
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	map();
	move_break();
	tune();
	return 7;
}
