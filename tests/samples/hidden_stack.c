/*
 * Takes pages of its own stack away while it goes on, as Ltest-mem-validate of libunwind does: at
 * random, by each call that can do it, pages in which only frames further out lie. Prints how often
 * it allocated with its whole stack there, and without.
 *
 *     hidden_stack SEED
 */
#include "sample.h"

#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE   4096
#define ROUNDS 60
#define LEVELS 12

static uint64_t seed;
static char *base; /* no page from here on is hidden: the thread needs them */
static char *hidden[LEVELS];
static int hidden_count;
static char *aside; /* where pages are moved to */
static unsigned long open_calls, hidden_calls;

static unsigned below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % n;
}

static NOINLINE void allocate_open(void)
{
	open_calls++;
	free(keep(malloc(16)));
	STAY();
}

static NOINLINE void allocate_hidden(void)
{
	hidden_calls++;
	free(keep(malloc(24)));
	STAY();
}

static NOINLINE void allocate(void)
{
	if (hidden_count)
		allocate_hidden();
	else
		allocate_open();
	STAY();
}

static void protect(char *page, int protection, unsigned how)
{
	if (how == 0)
		REQUIRE(mprotect(page, PAGE, protection) == 0);
	else if (how == 1)
		REQUIRE(syscall(SYS_mprotect, page, PAGE, protection) == 0);
	else
		REQUIRE(syscall(SYS_pkey_mprotect, page, PAGE, protection, -1) == 0);
}

static void move(char *from, char *to, unsigned how)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

	if (how == 3)
		REQUIRE(mremap(from, PAGE, PAGE, flags, to) == to);
	else
		REQUIRE(syscall(SYS_mremap, from, PAGE, PAGE, flags, to) == (long)to);
}

static char *place_aside(void)
{
	return aside + hidden_count * PAGE;
}

static void act(int levels);

static NOINLINE void act_without(char *page, int levels)
{
	unsigned how = below(5);

	if (how < 3)
		protect(page, PROT_NONE, how);
	else
		move(page, place_aside(), how);
	hidden[hidden_count++] = page;
	act(levels);
	hidden_count--;
	if (how < 3)
		protect(page, PROT_READ | PROT_WRITE, how);
	else
		move(place_aside(), page, how);
}

/* A page of frames further out than this one, or NULL. */
static char *page_to_hide(char *frame)
{
	char *first = (char *)(((uintptr_t)frame + 16 + PAGE - 1) & -(uintptr_t)PAGE);
	char *page;

	if (first >= base || below(3))
		return NULL;
	page = first + below((unsigned)((base - first) / PAGE)) * PAGE;
	for (int i = 0; i < hidden_count; i++)
		if (hidden[i] == page)
			return NULL;
	return page;
}

static NOINLINE void level(int levels)
{
	char *room = keep(alloca(16 + below(3) * PAGE));
	char *page = page_to_hide(__builtin_frame_address(0));

	if (page)
		act_without(page, levels);
	else
		act(levels);
	keep(room);
	STAY();
}

static void act(int levels)
{
	for (unsigned n = below(4); n > 0; n--)
		allocate();
	if (levels)
		level(levels - 1);
	for (unsigned n = below(4); n > 0; n--)
		allocate();
}

static NOINLINE void *run(void *argument)
{
	base = (char *)((uintptr_t)__builtin_frame_address(0) & -(uintptr_t)PAGE);
	for (int i = 0; i < ROUNDS; i++)
		level((int)below(LEVELS));
	allocate_open();
	return keep(argument);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	REQUIRE(argc == 2);
	seed = strtoull(argv[1], NULL, 0) * 2 + 1;
	aside = mmap(NULL, LEVELS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(aside != MAP_FAILED);
	REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	printf("%lu %lu\n", open_calls, hidden_calls);
	return 7;
}
