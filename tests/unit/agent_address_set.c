/* The set of addresses against a plain array of what is in it, and under several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "agent/ground/address_set.h"
#include "agent/ground/own_pages.h"

static size_t allocations, allocations_left;

void *own_pages_allocate(size_t size)
{
	if (!allocations_left)
		return NULL;
	__atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	// Never given back, as own_pages.h's; not of malloc, so that nobody calls it a leak.
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void own_pages_release(void *memory, size_t size)
{
	munmap(memory, size);
}

static int setup(void **state)
{
	(void)state;
	allocations = 0;
	allocations_left = SIZE_MAX;
	return 0;
}

/* Neighbours within a word, a leaf, a middle and the top. */
static const uint64_t edges[] = {
	8,
	16,
	504,
	512,
	(UINT64_C(1) << 24) - 8,
	UINT64_C(1) << 24,
	(UINT64_C(1) << 35) - 8,
	UINT64_C(1) << 35,
	UINT64_C(0x7ffff7dd5010),
	UINT64_C(0x7ffffffffff8),
};

#define EDGES (sizeof(edges) / sizeof(*edges))

static void test_each_alone(void **state)
{
	struct address_set set = {0};

	(void)state;
	for (size_t i = 0; i < EDGES; i++)
		assert_false(address_set_has(&set, edges[i]));
	for (size_t i = 0; i < EDGES; i++) {
		assert_true(address_set_add(&set, edges[i]));
		for (size_t j = 0; j < EDGES; j++)
			assert_int_equal(address_set_has(&set, edges[j]), j == i);
		assert_true(address_set_remove(&set, edges[i]));
		assert_false(address_set_remove(&set, edges[i]));
	}
}

static void test_random(void **state)
{
	struct address_set set = {0};
	static bool there[1 << 16];
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;

		uint64_t number = random >> 48;
		uint64_t address = UINT64_C(0x555555000000) + number * 8 * 1021;

		switch (random >> 40 & 3) {
		case 0:
		case 1:
			assert_true(address_set_add(&set, address));
			there[number] = true;
			break;
		case 2:
			assert_int_equal(address_set_remove(&set, address), there[number]);
			there[number] = false;
			break;
		default:
			assert_int_equal(address_set_has(&set, address), there[number]);
		}
	}
}

static void test_no_memory(void **state)
{
	struct address_set set = {0};

	(void)state;
	for (size_t left = 0; left < 3; left++) {
		allocations_left = left ? 1 : 0; // each try gets one step further
		assert_false(address_set_add(&set, edges[3]));
		assert_false(address_set_has(&set, edges[3]));
		assert_false(address_set_remove(&set, edges[3]));
	}
	allocations_left = 1;
	assert_true(address_set_add(&set, edges[3]));
	assert_true(address_set_has(&set, edges[3]));
	allocations_left = SIZE_MAX;
	assert_false(address_set_add(&set, UINT64_C(1) << 47));
	assert_false(address_set_has(&set, UINT64_MAX - 7));
}

static struct address_set shared;
static uint32_t removed;

/* All threads write bits of the same words; each removes every address, one of them with success.
 */
static void *add_and_remove(void *argument)
{
	uint64_t own = (uintptr_t)argument;

	for (uint64_t round = 0; round < 2000; round++) {
		for (uint64_t i = 0; i < 16; i++)
			if (!address_set_add(&shared, 0x10000 + (i * 4 + own) * 8))
				abort();
		for (uint64_t i = 0; i < 16; i++)
			if (!address_set_remove(&shared, 0x10000 + (i * 4 + own) * 8))
				abort();
	}
	for (uint64_t i = 0; i < 10000; i++)
		if (address_set_remove(&shared, 0x100000 + i * 8))
			__atomic_fetch_add(&removed, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(address_set_add(&shared, 0x100000 + i * 8));
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(removed, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_each_alone, setup),
		cmocka_unit_test_setup(test_random, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test_setup(test_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
