/*
 * Which pages can be read: random protections of a range of memory, against a list of them; and
 * more stacks than the table has room for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "agent/unwind/stack_bounds.h"

#define PAGES   16384 /* 64 MiB */
#define STEPS   60000
#define REGION  65536
#define REGIONS 16384 /* twice as many as there is room for */

static bool readable[PAGES];
static uint64_t memory;
static unsigned forgotten;

static uint64_t below(uint64_t n)
{
	static uint64_t random = 88172645463325252U;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (random >> 11) % n;
}

static void forgot(void)
{
	forgotten++;
}

static uint64_t map(size_t size, int protection)
{
	void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	return (uint64_t)p;
}

static int setup(void **state)
{
	const struct unwind_host host = {.forgot = forgot};

	(void)state;
	stack_bounds_init(&host);
	return 0;
}

static void protect(uint64_t first, uint64_t count, bool read)
{
	uint64_t start = memory + first * STACK_PAGE, size = count * STACK_PAGE;

	unwind_memory_changes(start, size);
	assert_int_equal(mprotect((void *)start, size, read ? PROT_READ | PROT_WRITE : PROT_NONE),
			 0);
	unwind_memory_changed(start, size);
	memset(readable + first, read, count);
}

static bool all_readable(uint64_t start, uint64_t end)
{
	for (uint64_t page = (start - memory) / STACK_PAGE; page <= (end - 1 - memory) / STACK_PAGE;
	     page++)
		if (page >= PAGES || !readable[page])
			return false;
	return true;
}

/* Of one page, a stack, or more than is looked up page by page. */
static uint64_t some_pages(void)
{
	static const uint64_t most[] = {1, 4, 64, 4096};

	return 1 + below(most[below(4)]);
}

static void change(struct unwind_stack *stack)
{
	uint64_t count = some_pages(), first = below(PAGES - count);
	unsigned before = forgotten;

	protect(first, count, below(2));
	if (forgotten != before) // as a thread does before its next capture
		stack->known = 0;
}

static void ask(struct unwind_stack *stack)
{
	uint64_t start = memory + STACK_PAGE + below((PAGES - 64) * STACK_PAGE);
	uint64_t end = start + 1 + below(4 * STACK_PAGE), limit;

	assert_int_equal(stack_bounds_can_read(stack, start, end), all_readable(start, end));
	limit = stack_bounds_end(stack, start);
	if (limit > start)
		assert_true(all_readable(start - ARCH_RED_ZONE, limit));
	else
		assert_false(all_readable(start - ARCH_RED_ZONE, start + 1) &&
			     all_readable(start, end));
}

static void test_random_protections(void **state)
{
	struct unwind_stack stack = {0};

	(void)state;
	memory = map(PAGES * STACK_PAGE, PROT_NONE);
	for (int step = 0; step < STEPS; step++) {
		if (below(8) == 0)
			change(&stack);
		ask(&stack);
	}
	assert_true(forgotten > STEPS / 100);
	munmap((void *)memory, PAGES * STACK_PAGE);
	unwind_memory_changed(memory, PAGES * STACK_PAGE);
}

/* What is replaced in the table is forgotten by all: nothing is relied upon that it does not hold.
 */
static void test_more_than_there_is_room_for(void **state)
{
	const uint64_t start = map((size_t)REGIONS * REGION, PROT_READ | PROT_WRITE);
	struct unwind_stack stack = {0};

	(void)state;
	forgotten = 0;
	for (uint64_t at = start; at < start + REGION * 1000; at += REGION)
		assert_true(stack_bounds_can_read(&stack, at, at + 8));
	assert_int_equal(forgotten, 0);
	for (uint64_t at = start; at < start + (uint64_t)REGIONS * REGION; at += REGION)
		assert_true(stack_bounds_can_read(&stack, at, at + 8));
	assert_true(forgotten > REGIONS / 4);
	unwind_memory_changes(start, (uint64_t)REGIONS * REGION);
	munmap((void *)start, (size_t)REGIONS * REGION);
	unwind_memory_changed(start, (uint64_t)REGIONS * REGION);
	for (uint64_t at = start; at < start + (uint64_t)REGIONS * REGION; at += REGION)
		assert_false(stack_bounds_can_read(&stack, at, at + 8));
}

static void test_odd_addresses(void **state)
{
	struct unwind_stack stack = {0};

	(void)state;
	assert_false(stack_bounds_can_read(&stack, 0, 8));
	assert_false(stack_bounds_can_read(&stack, UINT64_MAX - 7, 0));
	assert_false(stack_bounds_can_read(&stack, UINT64_MAX - 16, UINT64_MAX - 8));
	assert_false(stack_bounds_can_read(&stack, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 8));
	assert_true(stack_bounds_end(&stack, 0) == 0 && stack_bounds_end(&stack, 64) == 0);
	assert_true(stack_bounds_end(&stack, UINT64_MAX) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_random_protections, setup),
		cmocka_unit_test_setup(test_more_than_there_is_room_for, setup),
		cmocka_unit_test_setup(test_odd_addresses, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
