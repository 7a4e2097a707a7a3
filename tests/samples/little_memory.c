/*
 * Allocates until there is no more, is told so as it would be without the agent, and goes on.
 * Argument: what bounds it. "address_space", "data" and "locked" it sets itself, "given" is there.
 *
 * EXPECT before: calls=1000 total_bytes=100000 leaked_blocks=1000
 * EXPECT after: calls=20000 total_bytes=2000000 leaked_blocks=0
 */
#include "sample.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROOM  (64ul << 20)
#define BLOCK 65536
#define MOST  (1ul << 18)

static NOINLINE void before(void)
{
	for (int i = 0; i < 1000; i++)
		keep(malloc(100));
	STAY();
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 20000; i++)
		free(keep(malloc(100)));
	STAY();
}

static void bound(const char *how)
{
	struct rlimit limit;

	if (!strcmp(how, "address_space")) {
		limit.rlim_cur = limit.rlim_max = sample_kilobytes("VmSize:") * 1024 + ROOM;
		REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
	} else if (!strcmp(how, "data")) {
		limit.rlim_cur = limit.rlim_max = sample_kilobytes("VmData:") * 1024 + ROOM;
		REQUIRE(setrlimit(RLIMIT_DATA, &limit) == 0);
	} else if (!strcmp(how, "locked")) {
		// Whatever is mapped from now on is touched, so that a little must remain a little.
		if (mlockall(MCL_CURRENT | MCL_FUTURE))
			puts("not allowed");
		limit.rlim_cur = limit.rlim_max = sample_kilobytes("VmSize:") * 1024 + ROOM;
		REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
	} else {
		REQUIRE(!strcmp(how, "given"));
	}
}

static NOINLINE size_t use_up(size_t size)
{
	static void *blocks[MOST];
	size_t count = 0;

	errno = 0;
	while (count < MOST && (blocks[count] = malloc(size)))
		count++;
	REQUIRE(count < MOST && errno == ENOMEM);
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
	return count;
}

int main(int argc, char **argv)
{
	REQUIRE(argc == 2);
	before();
	bound(argv[1]);
	REQUIRE(use_up(BLOCK) > ROOM / 4 / BLOCK);
	REQUIRE(use_up(BLOCK / 32) > ROOM / 4 / (BLOCK / 32));
	after();
	puts("ok");
	return 7;
}
