/* Places of the agent's memory: they are dense, avoid what is there, and are found elsewhere if
 * need be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "agent/arch/stretches.h"
#include "agent/ground/clock.h"
#include "agent/ground/own_place.h"

#define SLOT    (64u << 10)
#define THREADS 4
#define ROUNDS  2000
#define HELD    40
#define ONES    0x0101010101010101u

bool clock_use_tsc = true;

uint64_t clock_ticks_slow(void)
{
	return 0;
}

static bool is_in(const void *memory, uint64_t start)
{
	return (uint64_t)memory - start < ARCH_STRETCH_SIZE;
}

static bool is_in_stretch(const void *memory)
{
	return is_in(memory, ARCH_STRETCH_NEAR) || is_in(memory, ARCH_STRETCH_FAR);
}

static char *map(size_t size)
{
	char *memory = own_place_map_memory(size);

	assert_non_null(memory);
	return memory;
}

/* At most one of these finds the end of the stretch. */
static void test_dense(void **state)
{
	char *places[HELD];
	int behind = 0;

	(void)state;
	for (int i = 0; i < HELD; i++) {
		places[i] = map(i % 2 ? SLOT : SLOT - 1);
		assert_true(is_in_stretch(places[i]));
		behind += i && places[i] == places[i - 1] + SLOT;
	}
	assert_true(behind >= HELD - 2);
	own_place_unmap(places[7], SLOT);
	assert_ptr_equal(map(SLOT / 4), places[7]);
	assert_ptr_equal(map(SLOT / 4), places[7] + SLOT / 4);
	assert_true(map(SLOT) > places[7] + SLOT);
	assert_ptr_equal(map(SLOT / 2), places[7] + SLOT / 2);
}

/* What another has mapped stays as it is. */
static void test_occupied(void **state)
{
	char *last = map(SLOT), *other, *next;

	(void)state;
	other = mmap(last + SLOT, SLOT * 20, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(other, last + SLOT);
	memset(other, 1, SLOT * 20);
	for (int i = 0; i < HELD; i++) {
		next = map(SLOT);
		assert_true(is_in_stretch(next) && (next < last || next >= other + SLOT * 20));
	}
	for (size_t i = 0; i < SLOT * 20 / sizeof(uint64_t); i++)
		assert_int_equal(((uint64_t *)other)[i], ONES);
}

/* Each thread finds in its memory what it wrote there: none has it twice. */
static void *run(void *argument)
{
	uint64_t *held[HELD] = {0};
	size_t sizes[HELD] = {0}, wrong = 0;
	uint64_t random = (uint64_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		int i;

		random = random * 6364136223846793005u + 1442695040888963407u;
		i = (int)((random >> 33) % HELD);
		if (held[i]) {
			wrong += held[i][0] != (uint64_t)(held[i] + i);
			own_place_unmap(held[i], sizes[i]);
			held[i] = NULL;
			continue;
		}
		sizes[i] = 4096u << (random >> 60);
		held[i] = own_place_map_memory(sizes[i]);
		if (!held[i])
			return (void *)1;
		wrong += held[i][0] != 0;
		held[i][0] = (uint64_t)(held[i] + i);
	}
	for (int i = 0; i < HELD; i++)
		if (held[i])
			own_place_unmap(held[i], sizes[i]);
	return (void *)wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	for (uint64_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)(i * 77 + 1)), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

/* Last: what is mapped before goes. */
static void test_not_to_be_had(void **state)
{
	const uint64_t start =
		is_in(map(SLOT), ARCH_STRETCH_NEAR) ? ARCH_STRETCH_NEAR : ARCH_STRETCH_FAR;

	(void)state;
	assert_ptr_equal(mmap((void *)start, ARCH_STRETCH_SIZE, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0),
			 (void *)start);
	for (int i = 0; i < HELD; i++) {
		char *memory = map(SLOT);

		assert_false(is_in_stretch(memory));
		memory[0] = 1;
		own_place_unmap(memory, SLOT);
	}
	// A size that no stretch has.
	assert_null(own_place_map_memory(1ul << 47));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_occupied),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_not_to_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
