/* Sites, threads and weights of the live table; times. Also under several threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "agent/live/live_threads.h"
#include "agent/live/live_sampled.h"
#include "agent/live/sites.h"
#include "live_memory_fake.h"

static struct sites *sites;
static struct live_header header;

struct config config;

static int setup(void **state)
{
	(void)state;
	free(sites);
	sites = calloc(1, sizeof(*sites));
	header = (struct live_header){0};
	fake_memory_reset();
	return !sites || !sites_begin(sites, &header);
}

/* The site of a stack, outermost frame first, as a thread looks it up that knows nothing. */
static uint32_t site_of(const uint32_t *frames, size_t count)
{
	uint64_t hash = SITES_NO_FRAMES;
	uint32_t node = 0, site;
	bool made = false;

	for (size_t i = 0; i < count; i++)
		hash = sites_hash(hash, frames[i]);
	site = sites_find(sites, hash);
	if (site)
		return site;
	hash = SITES_NO_FRAMES;
	for (size_t i = 0; i < count; i++) {
		hash = sites_hash(hash, frames[i]);
		sites_expect_node(sites, &header, hash);
		node = sites_node(sites, &header, hash, node, frames[i], &made);
		if (!node)
			return 0;
	}
	return sites_add(sites, &header, hash, node);
}

/* A stack of one frame. */
static uint32_t site_of_frame(uint32_t frame)
{
	return site_of(&frame, 1);
}

static uint32_t node_of(uint32_t parent, uint32_t frame)
{
	bool made = false;

	return sites_node(sites, &header, sites_hash(parent ? parent : SITES_NO_FRAMES, frame),
			  parent, frame, &made);
}

static void test_nodes(void **state)
{
	uint32_t outer, inner, other;

	(void)state;
	assert_int_equal(header.nodes, 1);
	assert_int_equal(header.sites, SITES_STACKLESS + 1);
	outer = node_of(0, 7);
	inner = node_of(outer, 8);
	other = node_of(inner, 8);
	assert_true(outer && inner && other && outer != inner && inner != other);
	assert_int_equal(node_of(0, 7), outer);
	assert_int_equal(node_of(outer, 8), inner);
	assert_int_equal(node_of(inner, 8), other);
	assert_int_equal(header.nodes, 4);
	assert_int_equal(sites->nodes[0][inner].parent, outer);
	assert_int_equal(sites->nodes[0][inner].frame, 8);
}

static void test_stacks(void **state)
{
	static const uint32_t frames[] = {1, 2, 3, 4}, others[] = {1, 2, 4, 3};
	uint32_t whole = site_of(frames, 4), part = site_of(frames, 3), other;

	(void)state;
	assert_int_equal(header.nodes, 5);
	other = site_of(others, 4);
	assert_int_equal(header.nodes, 7);
	assert_true(whole && part && other && whole != part && part != other && other != whole);
	assert_int_equal(site_of(frames, 4), whole);
	assert_int_equal(site_of(frames, 3), part);
	assert_int_equal(site_of(others, 4), other);
	assert_int_equal(header.sites, SITES_STACKLESS + 4);
	for (uint32_t node = sites_at(sites, other)->node, i = 4; i-- > 0;
	     node = sites_node_at(sites, node)->parent)
		assert_int_equal(sites_node_at(sites, node)->frame, others[i]);
}

/* Past all tiers but the last of the index, and past the first heads of nodes. */
static void test_many(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 250000; i++)
			assert_int_equal(site_of_frame(i), i + 1);
	assert_int_equal(header.nodes, 250001);
	assert_int_equal(header.sites, 250002);
	assert_int_equal(sites->index.last, 3);
	sites_release(sites);
}

/* What is found in a former tier is found in the last one from then on. */
static void test_tiers(void **state)
{
	const uint32_t first = 3000;
	uint32_t before;

	(void)state;
	for (uint32_t i = 1; !sites->index.last; i++)
		assert_int_equal(site_of_frame(i), i + 1);
	before = sites->index.counts[1];
	for (int round = 0; round < 2; round++) {
		assert_int_equal(site_of_frame(first), first + 1);
		assert_int_equal(sites->index.counts[1], before + 1);
	}
}

#define NEW_STACK UINT64_C(0xfedcba9876543210)
#define TIER_0    ((1u << STACK_INDEX_FIRST_BITS) / 4 * 3) /* entries, and the next tier is made */

static void add_meanwhile(void)
{
	assert_int_equal(stack_index_add(&sites->index, NEW_STACK, 4711), 4711);
}

/* Two threads meet a new stack; one adds it to the tier that the other one is about to leave. */
static void test_one_site_at_a_change_of_tiers(void **state)
{
	uint32_t count = 0;

	(void)state;
	while (sites->index.counts[0] < TIER_0)
		site_of_frame(++count);
	assert_int_equal(sites_find(sites, NEW_STACK), 0);
	fake_memory_meanwhile = add_meanwhile;
	assert_int_equal(sites_add(sites, &header, NEW_STACK, 1), 4711);
	assert_int_equal(sites->index.last, 1);
	assert_int_equal(sites_find(sites, NEW_STACK), 4711);
}

#define STACKS  32
#define FINDERS 3
#define CHANGES 3000

static struct stack_index shared_index;
static pthread_barrier_t changing;
static uint32_t answers[FINDERS][STACKS];

static uint64_t hash_of(uint32_t stack)
{
	return sites_hash(SITES_NO_FRAMES, stack + 1);
}

/* Those that fill tier 0 and some more, at once. */
static void *find_or_add(void *argument)
{
	uint32_t self = (uint32_t)(uintptr_t)argument;

	for (uint32_t round = 0; round < CHANGES; round++) {
		pthread_barrier_wait(&changing);
		for (uint32_t i = 0; i < STACKS; i++) {
			uint64_t hash = hash_of(TIER_0 - STACKS / 2 + i);
			uint32_t site = stack_index_find(&shared_index, hash);

			if (!site && stack_index_make_room(&shared_index))
				site = stack_index_add(&shared_index, hash,
						       (self + 1) * STACKS + i);
			answers[self][i] = site;
		}
		pthread_barrier_wait(&changing);
	}
	return NULL;
}

/* Several threads meet the same new stacks while a tier becomes full: they agree about each. */
static void test_threads_at_a_change_of_tiers(void **state)
{
	static struct stack_index filled;
	pthread_t threads[FINDERS];

	(void)state;
	for (uint32_t i = 0; i < TIER_0 - STACKS / 2; i++)
		stack_index_add(&filled, hash_of(i), i + 1);
	pthread_barrier_init(&changing, NULL, FINDERS + 1);
	for (size_t i = 0; i < FINDERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, find_or_add, (void *)i), 0);
	for (uint32_t round = 0; round < CHANGES; round++) {
		fake_memory_reset();
		shared_index = filled;
		pthread_barrier_wait(&changing);
		pthread_barrier_wait(&changing);
		assert_int_equal(shared_index.last, 1);
		for (uint32_t i = 0; i < STACKS; i++) {
			uint64_t hash = hash_of(TIER_0 - STACKS / 2 + i);

			for (uint32_t j = 0; j < FINDERS; j++)
				assert_int_equal(answers[j][i],
						 stack_index_find(&shared_index, hash));
		}
	}
	for (size_t i = 0; i < FINDERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&changing);
}

/* Of a tier that cannot grow searches end, and what is in it is found. */
static void test_full_tier(void **state)
{
	uint32_t known = 0, nodes, numbers;

	(void)state;
	assert_int_not_equal(site_of_frame(1), 0); // the chunks are there
	fake_memory_left = 0;
	while (site_of_frame(known + 1))
		known++;
	assert_int_equal(known, (1u << STACK_INDEX_FIRST_BITS) / 8 * 7);
	numbers = header.sites;
	nodes = header.nodes;
	for (uint32_t i = 1; i <= known; i++)
		assert_int_equal(site_of_frame(i), i + 1);
	assert_int_equal(site_of_frame(1u << 30), 0);
	assert_int_equal(site_of_frame(1u << 30), 0);
	assert_int_equal(header.sites, numbers);
	assert_int_equal(header.nodes, nodes + 1);
	fake_memory_left = 1;
	assert_int_equal(site_of_frame(1u << 30), numbers);
	assert_int_equal(sites->index.last, 1);
}

static void test_sums(void **state)
{
	uint32_t number = site_of_frame(1);
	struct live_site *site = sites_at(sites, number);

	(void)state;
	// What finds nothing live reads the clock, unless the last allocation had the same time.
	fake_memory_ticks = 5 << 10;
	sites_allocate(sites, number, 0, (struct weight){1, 100}, 4 << 10);
	sites_allocate(sites, number, 0, (struct weight){1, 50}, 6 << 10);
	sites_free(site, (struct weight){1, 100});
	sites_allocate(sites, number, 0, (struct weight){1, 10}, 7 << 10);
	assert_int_equal(site->calls, 3);
	assert_int_equal(site->bytes, 160);
	assert_int_equal(site->freed_calls, 1);
	assert_int_equal(site->freed_bytes, 100);
	assert_int_equal(site->peak_calls, 2);
	assert_int_equal(site->peak_bytes, 150);
	assert_int_equal(live_time_unpack(site->first), 5 << 10);
	assert_int_equal(live_time_unpack(site->since), 5 << 10);
	assert_int_equal(live_time_unpack(site->last), 7 << 10);
	fake_memory_ticks = 10 << 10;
	sites_free(site, (struct weight){2, 60});
	sites_allocate(sites, number, 0, (struct weight){1, 1}, 9 << 10);
	assert_int_equal(live_time_unpack(site->first), 5 << 10);
	assert_int_equal(live_time_unpack(site->since), 10 << 10);
	sites_free(site, (struct weight){1, 1});
	sites_allocate(sites, number, 0, (struct weight){1, 1}, 9 << 10);
	assert_int_equal(live_time_unpack(site->since), 9 << 10);
}

static void test_no_memory(void **state)
{
	(void)state;
	fake_memory_left = 1; // a tier of the index
	for (uint32_t i = 1; i < (1u << SITES_SITE_BITS) - 1; i++)
		assert_int_not_equal(site_of_frame(i), 0);
	assert_int_equal(site_of_frame(1u << 30), 0);
	for (uint32_t i = header.nodes; i < 1u << SITES_NODE_BITS; i++)
		assert_int_not_equal(node_of(0, i), 0);
	assert_int_equal(node_of(0, 1u << 29), 0);
	// Others are found as before.
	assert_int_equal(site_of_frame(17), 18);
	assert_int_equal(node_of(0, 17), 17);
}

static void test_limits(void **state)
{
	(void)state;
	header.nodes = LIVE_NODES;
	assert_int_equal(site_of_frame(1), 0);
	header.nodes = 1;
	header.sites = SITES_UNKNOWN;
	assert_int_equal(site_of_frame(1), 0);
	assert_int_equal(header.nodes, 2);
	assert_int_equal(header.sites, SITES_UNKNOWN);
}

static void test_times(void **state)
{
	(void)state;
	for (unsigned int bits = 16; bits <= 32; bits += 16)
		for (unsigned int shift = 0; shift < 60; shift++) {
			uint64_t ticks = UINT64_C(0x9e3779b97f4a7c15) >> (63 - shift);
			uint64_t again = live_time_unpack(live_time_pack(ticks, bits));

			assert_true(live_time_pack(ticks, bits) >> 1 < 1u << (bits - 1));
			assert_true(again <= ticks);
			// Weeks later: the last moment that there is a number for.
			if (ticks >> 10 >> (bits - 5 + 31)) {
				assert_int_equal(live_time_pack(ticks, bits),
						 UINT32_MAX >> (32 - bits));
				continue;
			}
			assert_true(ticks - again < 1024 || ticks - again <= ticks >> (bits - 6));
		}
}

static void test_weights(void **state)
{
	static const uint64_t means[] = {1, 100, 524288, 1 << 30};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (uint64_t size = 0; size < UINT64_C(1) << 34; size = size * 3 + 1) {
			struct weight weight = weight_of_sample(size, means[i]);
			double exact = -1 / expm1(-(double)(size ? size : 1) / (double)means[i]);

			assert_true(fabs((double)weight.calls / LIVE_WEIGHT_ONE / exact - 1) <
				    1e-5);
			assert_true(fabs((double)weight.bytes - exact * (double)size) <
				    1 + exact * (double)size * 1e-9);
		}
}

static void test_names_of_threads(void **state)
{
	struct live_threads threads = {0};
	struct live_sums sums;
	uint32_t one, two;

	(void)state;
	assert_true(live_threads_begin(&threads, &header));
	one = live_threads_claim(&threads, &header, 1, "worker");
	two = live_threads_claim(&threads, &header, 2, "worker");
	assert_true(one && two && one != two);
	live_threads_leave(&threads, one);
	assert_int_not_equal(live_threads_claim(&threads, &header, 3, "other"), one);
	assert_int_equal(live_threads_claim(&threads, &header, 4, "worker"), one);
	assert_int_equal(threads.entries[one].tid, 4);
	assert_string_equal(threads.entries[two].name, "worker");
	sums = live_threads_sums(&threads, one);
	live_threads_allocate(&sums, (struct weight){1, 10});
	sums = live_threads_sums(&threads, two);
	live_threads_free_as(live_threads_own(&sums), &sums, one, (struct weight){1, 10});
	assert_int_equal(threads.entries[one].bytes, 10);
	assert_int_equal(threads.freed[0][two * LIVE_THREADS + one].calls, 1);
	for (uint32_t i = header.threads; i < LIVE_THREADS; i++)
		assert_int_equal(live_threads_claim(&threads, &header, 5, "a name of 15 letters"),
				 i);
	assert_int_equal(live_threads_claim(&threads, &header, 5, "one more"), 0);
	live_threads_leave(&threads, two);
	assert_int_equal(live_threads_claim(&threads, &header, 5, "worker"), two);
}

#define THREADS 4
#define ROUNDS  100000

static void *use(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t frames[5], site;

		random = random * 1103515245u + 12345u;
		for (uint32_t depth = 0; depth < 5; depth++)
			frames[depth] = (random >> (4 * depth) & 15) + 1;
		site = site_of(frames, 5);
		if (!site)
			return "no room";
		sites_allocate(sites, site, 0, (struct weight){1, 8}, i << 10);
		if (i & 1)
			sites_free(sites_at(sites, site), (struct weight){1, 8});
	}
	return NULL;
}

static void test_several_threads(void **state)
{
	uint64_t calls = 0, freed = 0;
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)(i + 1)), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	for (uint32_t i = 1; i < header.sites; i++) {
		const struct live_site *site = sites_at(sites, i);

		calls += site->calls;
		freed += site->freed_calls;
		assert_true(site->peak_calls <= site->calls);
		assert_true(site->peak_calls >= site->calls - site->freed_calls);
	}
	assert_int_equal(calls, THREADS * ROUNDS);
	assert_int_equal(freed, THREADS * ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nodes, setup),
		cmocka_unit_test_setup(test_stacks, setup),
		cmocka_unit_test_setup(test_many, setup),
		cmocka_unit_test_setup(test_tiers, setup),
		cmocka_unit_test_setup(test_one_site_at_a_change_of_tiers, setup),
		cmocka_unit_test_setup(test_threads_at_a_change_of_tiers, setup),
		cmocka_unit_test_setup(test_full_tier, setup),
		cmocka_unit_test_setup(test_sums, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test_setup(test_limits, setup),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_weights),
		cmocka_unit_test_setup(test_names_of_threads, setup),
		cmocka_unit_test_setup(test_several_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
