/* Every way to get memory from the kernel that libc offers; prints what happened as JSON lines. */
#include "sample.h"

#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static NOINLINE void map(void)
{
	char *a = mmap(NULL, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b;

	REQUIRE(a != MAP_FAILED);
	printf("{\"kind\": \"mmap\", \"address\": %lu, \"length\": 40960, \"protection\": 3, "
	       "\"flags\": 34, \"fd\": -1, \"offset\": 0}\n",
	       (unsigned long)a);
	REQUIRE(munmap(a + 20480, 4096) == 0);
	printf("{\"kind\": \"munmap\", \"address\": %lu, \"length\": 4096}\n",
	       (unsigned long)(a + 20480));
	b = mremap(a, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, a + 24576);
	REQUIRE(b == a + 24576);
	printf("{\"kind\": \"mremap\", \"old_address\": %lu, \"old_length\": 4096, \"address\": "
	       "%lu, "
	       "\"length\": 8192, \"flags\": 3}\n",
	       (unsigned long)a, (unsigned long)b);
	REQUIRE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED);
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
