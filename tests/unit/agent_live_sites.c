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
#include "agent/live/sites.h"
#include "agent/live/weight.h"
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

static void test_nodes(void **state)
{
	uint32_t outer, inner, other;

	(void)state;
	assert_int_equal(header.nodes, 1);
	assert_int_equal(header.sites, SITES_STACKLESS + 1);
	outer = sites_node(sites, &header, 0, 7);
	inner = sites_node(sites, &header, outer, 8);
	other = sites_node(sites, &header, inner, 8);
	assert_true(outer && inner && other && outer != inner && inner != other);
	assert_int_equal(sites_node(sites, &header, 0, 7), outer);
	assert_int_equal(sites_node(sites, &header, outer, 8), inner);
	assert_int_equal(sites_node(sites, &header, inner, 8), other);
	assert_int_equal(header.nodes, 4);
	assert_int_equal(sites->nodes[0][inner].parent, outer);
	assert_int_equal(sites->nodes[0][inner].frame, 8);
}

static void test_many(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		uint32_t node = 0;

		for (uint32_t i = 1; i <= 200000; i++) {
			node = sites_node(sites, &header, i % 40 ? node : 0, i);
			assert_int_equal(node, i);
			assert_int_equal(sites_of_node(sites, &header, node), i + 1);
		}
	}
	assert_int_equal(header.nodes, 200001);
	assert_int_equal(header.sites, 200002);
}

static void test_sums(void **state)
{
	uint32_t number = sites_of_node(sites, &header, sites_node(sites, &header, 0, 1));
	struct live_site *site = sites_at(sites, number);

	(void)state;
	sites_allocate(site, (struct weight){1, 100}, 5 << 10);
	sites_allocate(site, (struct weight){1, 50}, 6 << 10);
	sites_free(site, (struct weight){1, 100});
	sites_allocate(site, (struct weight){1, 10}, 7 << 10);
	assert_int_equal(site->calls, 3);
	assert_int_equal(site->bytes, 160);
	assert_int_equal(site->freed_calls, 1);
	assert_int_equal(site->freed_bytes, 100);
	assert_int_equal(site->peak_calls, 2);
	assert_int_equal(site->peak_bytes, 150);
	assert_int_equal(live_time_unpack(site->first), 5 << 10);
	assert_int_equal(live_time_unpack(site->since), 5 << 10);
	assert_int_equal(live_time_unpack(site->last), 7 << 10);
	sites_free(site, (struct weight){2, 60});
	sites_allocate(site, (struct weight){1, 1}, 9 << 10);
	assert_int_equal(live_time_unpack(site->first), 5 << 10);
	assert_int_equal(live_time_unpack(site->since), 9 << 10);
}

static void test_no_memory(void **state)
{
	(void)state;
	fake_memory_left = 0;
	for (uint32_t i = 1; i < 1u << SITES_NODE_BITS; i++)
		assert_int_not_equal(sites_node(sites, &header, 0, i), 0);
	assert_int_equal(sites_node(sites, &header, 0, 1u << 30), 0);
	for (uint32_t i = 1; i < (1u << SITES_SITE_BITS) - 1; i++)
		assert_int_not_equal(sites_of_node(sites, &header, i), 0);
	assert_int_equal(sites_of_node(sites, &header, 1u << 15), 0);
	// Others are found as before.
	assert_int_equal(sites_node(sites, &header, 0, 17), 17);
}

static void test_limits(void **state)
{
	(void)state;
	header.nodes = LIVE_NODES;
	header.sites = SITES_UNKNOWN;
	assert_int_equal(sites_node(sites, &header, 0, 1), 0);
	header.nodes = 1;
	assert_int_equal(sites_node(sites, &header, 0, 1), 1);
	assert_int_equal(sites_of_node(sites, &header, 1), 0);
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
	live_threads_free(&sums, one, (struct weight){1, 10});
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
		uint32_t node = 0, site;

		random = random * 1103515245u + 12345u;
		for (uint32_t depth = 0; depth < 5; depth++)
			node = sites_node(sites, &header, node, (random >> (4 * depth) & 15) + 1);
		site = sites_of_node(sites, &header, node);
		if (!node || !site)
			return "no room";
		sites_allocate(sites_at(sites, site), (struct weight){1, 8}, i << 10);
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
		cmocka_unit_test_setup(test_many, setup),
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
