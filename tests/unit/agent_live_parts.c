/* Parts of sites: who gets which, that nothing of them is lost, and how true the peak of all is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "agent/live/sites.h"
#include "live_memory_fake.h"

#define FRAME 5u

static struct sites *sites;
static struct live_header header;
static uint64_t hash;  /* of the stack of FRAME, … */
static uint32_t whole; /* … and its site */

static uint32_t site_of(uint32_t frame, uint64_t *ret)
{
	bool made = false;

	*ret = sites_hash(SITES_NO_FRAMES, frame);
	return sites_add(sites, &header, *ret, sites_node(sites, &header, *ret, 0, frame, &made));
}

static int setup(void **state)
{
	(void)state;
	free(sites);
	sites = calloc(1, sizeof(*sites));
	header = (struct live_header){0};
	fake_memory_reset();
	if (!sites || !sites_begin(sites, &header))
		return 1;
	whole = site_of(FRAME, &hash);
	return !whole;
}

static uint32_t take(uint32_t site, uint32_t thread)
{
	return site_parts_take(sites, &header, site, hash, thread);
}

static uint32_t count_parts(uint32_t of)
{
	uint32_t part = 0, count = 0;

	while ((part = site_parts_next(sites, of, part)))
		count++;
	return count;
}

/* Allocates once each; how often that says that the thread is to take a part. */
static uint32_t turns_until(uint32_t count, uint32_t threads, struct site_turns *turns,
			    uint64_t ticks)
{
	struct live_site *site = sites_at(sites, whole);
	uint32_t said = 0;

	for (uint32_t i = 0; i < count; i++)
		if (sites_allocate(sites, whole, site_parts_tag(i % threads), (struct weight){1, 1},
				   0))
			said += site_parts_wanted(turns, site, whole, i / ticks);
	return said;
}

static void test_turns(void **state)
{
	struct site_turns turns[1u << SITE_TURNS_LOG] = {0};
	struct live_site *site = sites_at(sites, whole);
	uint32_t node = site->node, said = 0;

	(void)state;
	assert_int_equal(turns_until(1000, 1, turns, 1000), 0);
	assert_int_equal(site->node, node);
	// So often in one tick: it is said once.
	assert_int_equal(turns_until(1000, 2, turns, 1000), 1);
	assert_int_equal(live_site_node(site), node);
	// The last one's, and no other bits.
	sites_allocate(sites, whole, site_parts_tag(2), (struct weight){0, 0}, 0);
	assert_int_equal(site->node, node | site_parts_tag(2));
	assert_int_equal(site_parts_tag(SITE_PARTS_OF_ONE + 2), site_parts_tag(2));
	// As often, but not in one.
	memset(turns, 0, sizeof(turns));
	assert_int_equal(turns_until(1000, 2, turns, SITE_TURNS_MANY - 1), 0);
	// Sites of one place.
	memset(turns, 0, sizeof(turns));
	for (uint32_t i = 0; i < 1000; i++)
		said += site_parts_wanted(turns, site, whole + (i % 2 << SITE_TURNS_LOG), 9);
	assert_int_equal(said, 0);
	assert_int_equal(site->calls, 3000);
	assert_int_equal(site->peak_calls, 3000);
	// Once it has parts who comes to it takes one, and stays with that.
	said = take(whole, 1);
	assert_true(sites_allocate(sites, whole, site_parts_tag(1), (struct weight){1, 1}, 0));
	assert_true(site_parts_wanted(turns, site, whole, 10));
	assert_false(sites_allocate(sites, said, site_parts_tag(1), (struct weight){1, 1}, 0));
	assert_false(sites_allocate(sites, said, site_parts_tag(2), (struct weight){1, 1}, 0));
}

static void test_who_gets_which(void **state)
{
	uint32_t part = take(whole, 1), other = take(whole, 2), same;

	(void)state;
	assert_true(part != whole && other != whole && part != other);
	assert_int_equal(take(whole, 1), part);
	assert_int_equal(take(part, 1), part);
	assert_int_equal(take(part, 2), other);
	assert_int_equal(count_parts(whole), 2);
	same = sites_at(sites, whole)->node & (LIVE_NODES - 1);
	assert_int_equal(sites_at(sites, whole)->node, same | LIVE_SITE_HAS_PARTS);
	assert_int_equal(sites_at(sites, part)->node, same | LIVE_SITE_PART);
	assert_int_equal(sites_at(sites, other)->node, same | LIVE_SITE_PART);
	assert_int_equal(live_site_node(sites_at(sites, part)), same);
	// The stack itself is found as before.
	assert_int_equal(sites_find(sites, hash), whole);
	for (uint32_t i = 0; i < 10 * SITE_PARTS_OF_ONE; i++)
		assert_int_not_equal(take(whole, i), whole);
	assert_int_equal(count_parts(whole), SITE_PARTS_OF_ONE);
}

/* A frame's id is a small number, as a thread's is. */
static void test_longer_stacks_are_no_parts(void **state)
{
	(void)state;
	for (uint32_t thread = 0; thread < SITE_PARTS_OF_ONE; thread++)
		take(whole, thread);
	for (uint32_t frame = 0; frame < LIVE_THREADS; frame++) {
		assert_int_equal(sites_find(sites, sites_hash(hash, frame)), 0);
		assert_int_equal(sites_find(sites, sites_hash(hash, LIVE_FRAME_SPECIAL | frame)),
				 0);
	}
}

/* By a hash that two stacks share a part may lead to another stack's site: that is nobody's part.
 */
static void test_another_stacks_hash(void **state)
{
	uint64_t of_part = sites_hash(hash, 0xc0000000u | 1);
	uint32_t other;

	(void)state;
	other = sites_add(sites, &header, of_part, 1);
	assert_int_equal(take(whole, 1), whole);
	assert_int_equal(count_parts(other), 0);
	assert_int_equal(take(take(whole, 2), 1), take(whole, 2));
	assert_int_equal(count_parts(whole), 1);
}

static void test_no_room(void **state)
{
	uint32_t part;

	(void)state;
	header.sites = SITES_UNKNOWN;
	assert_int_equal(take(whole, 1), whole);
	assert_int_equal(sites_at(sites, whole)->node & LIVE_SITE_HAS_PARTS, 0);
	header.sites = whole + 1;
	part = take(whole, 1);
	assert_int_not_equal(part, whole);
	header.sites = SITES_UNKNOWN;
	assert_int_equal(take(whole, 2), part);
	header.sites = part + 1;
	sites->parts = SITE_PARTS;
	assert_int_equal(take(whole, 3), part);
	assert_int_equal(sites->parts, SITE_PARTS);
	sites->parts--;
	assert_int_not_equal(take(whole, 3), part);
	assert_int_equal(count_parts(whole), 2);
}

static void allocate(uint32_t site, uint64_t bytes)
{
	bool divided = sites_allocate(sites, site, 0, (struct weight){1, bytes}, 0);

	// Who comes to the whole is told so.
	assert_int_equal(divided, site == whole && count_parts(whole) > 0);
}

static void end(uint32_t site, uint64_t bytes)
{
	sites_free(sites_at(sites, site), (struct weight){1, bytes});
}

/* Peaks against those of a count that knows all, of blocks that come and go at random. */
static void test_peaks(void **state)
{
	enum { PARTS = 5 };
	const struct live_site *site = sites_at(sites, whole);
	uint64_t calls = 0, bytes = 0, peak_calls = 0, peak_bytes = 0, of[PARTS + 1] = {0};
	uint32_t parts[PARTS + 1] = {whole}, random = 1;

	(void)state;
	for (uint32_t i = 1; i <= PARTS; i++)
		parts[i] = take(whole, i);
	for (uint32_t i = 0; i < 2000000; i++) {
		uint64_t size = i < 1000000 ? 64 : 5000;
		uint32_t which;

		random = random * 1103515245u + 12345u;
		which = (random >> 16) % (PARTS + (i % 1000 == 0));
		which = (which + 1) % (PARTS + 1);
		// Most of the time it is one of them that grows, and then another one.
		if ((random >> 8) % 100 < (which == i / 50000 % PARTS ? 70 : 45)) {
			allocate(parts[which], size);
			of[which]++, calls++, bytes += size;
		} else if (of[which] && i % 1000000 > 5000) {
			end(parts[which], size);
			of[which]--, calls--, bytes -= size;
		}
		peak_calls = calls > peak_calls ? calls : peak_calls;
		peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
		if (i == 999999)
			for (uint32_t j = 0; j <= PARTS; j++)
				for (; of[j]; of[j]--, calls--, bytes -= 64)
					end(parts[j], 64);
		assert_true(site->peak_calls <= peak_calls && site->peak_bytes <= peak_bytes);
		assert_true(site->peak_calls + PARTS * (SITE_PART_CALLS + (peak_calls >> 10)) >=
			    peak_calls);
		assert_true(site->peak_bytes + PARTS * (SITE_PART_BYTES + (peak_bytes >> 10)) >=
			    peak_bytes);
	}
	assert_true(peak_calls > 10000);
	// One after the other, as much as all had together: that is no peak of them all.
	for (uint32_t i = 1; i <= PARTS; i++) {
		uint64_t before = site->peak_calls;

		for (uint32_t j = 0; j < peak_calls / 2; j++)
			allocate(parts[i], 1);
		for (uint32_t j = 0; j < peak_calls / 2; j++)
			end(parts[i], 1);
		assert_true(site->peak_calls == before || calls + peak_calls / 2 > before);
	}
}

/* As its maker leaves it for a moment. */
static void test_part_that_is_not_linked_yet(void **state)
{
	uint32_t part = take(whole, 1);

	(void)state;
	sites->next_part[whole] = sites->next_part[part] = 0;
	sites_at(sites, whole)->node &= ~LIVE_SITE_HAS_PARTS;
	assert_int_equal(take(part, 2), part);
	for (uint32_t i = 0; i < 2 * SITE_PART_CALLS; i++)
		allocate(part, 1);
	assert_int_equal(sites_at(sites, whole)->peak_calls, 0);
	// Who finds it links it.
	assert_int_equal(take(whole, 1), part);
	assert_int_equal(count_parts(whole), 1);
	assert_true(sites_at(sites, whole)->node & LIVE_SITE_HAS_PARTS);
}

/* Of one whose block's beginning a baseline has forgotten. */
static void test_more_freed_than_allocated(void **state)
{
	uint32_t part = take(whole, 1), other = take(whole, 2);

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		end(other, 1);
	for (uint32_t i = 0; i < SITE_PART_CALLS; i++)
		allocate(part, 1);
	assert_int_equal(sites_at(sites, whole)->peak_calls, SITE_PART_CALLS);
}

static void test_whole_that_grows(void **state)
{
	const struct live_site *site = sites_at(sites, whole);
	uint32_t part = take(whole, 1);

	(void)state;
	for (uint32_t i = 1; i < SITE_PART_CALLS; i++)
		allocate(part, 2);
	assert_int_equal(site->peak_calls, 0);
	allocate(whole, 1);
	assert_int_equal(site->peak_calls, SITE_PART_CALLS);
	assert_int_equal(site->peak_bytes, 2 * SITE_PART_CALLS - 1);
}

/* Where the peak is high it is looked at when a part has grown by a share of it, not before. */
static void test_steps_of_a_high_peak(void **state)
{
	enum { HIGH = 1 << 30, SHARE = HIGH >> SITE_PART_LOG };
	const struct live_site *site = sites_at(sites, whole);
	const uint64_t grows[] = {HIGH, SHARE - 1, 1, SHARE};
	const uint64_t peaks[] = {HIGH, HIGH, HIGH + SHARE, HIGH + SHARE};
	uint32_t part = take(whole, 1);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sites_allocate(sites, part, 0, (struct weight){grows[i], 0}, 0);
		assert_int_equal(site->peak_calls, peaks[i]);
	}
	for (size_t i = 0; i < 4; i++) {
		sites_allocate(sites, part, 0, (struct weight){0, grows[i]}, 0);
		assert_int_equal(site->peak_bytes, peaks[i]);
	}
}

/* A part that grows by one large block has less before it than when it looked last. */
static void test_peak_of_large_blocks(void **state)
{
	enum { LARGE = 1000000 };
	const struct live_site *site = sites_at(sites, whole);
	uint32_t part = take(whole, 1), other = take(whole, 2);

	(void)state;
	allocate(part, 2 * LARGE);
	end(part, 2 * LARGE);
	allocate(other, LARGE);
	assert_int_equal(site->peak_bytes, 2 * LARGE);
	allocate(part, 2 * LARGE);
	assert_int_equal(site->peak_bytes, 3 * LARGE);
	end(part, 2 * LARGE);
	allocate(other, LARGE);
	allocate(part, 2 * LARGE - 1);
	assert_int_equal(site->peak_bytes, 4 * LARGE - 1);
}

#define THREADS 8
#define ROUNDS  100000

static void *use(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument, site = whole;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (sites_allocate(sites, site, 0, (struct weight){1, 8}, i << 10) || i % 1000 == 7)
			site = take(site, thread);
		if (i & 1)
			sites_free(sites_at(sites, site), (struct weight){1, 8});
	}
	return NULL;
}

static void test_several_threads(void **state)
{
	uint64_t calls = 0, freed = 0;
	pthread_t threads[THREADS];
	uint32_t site = whole;

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(count_parts(whole), THREADS);
	for (uint32_t part = 0; site; site = part = site_parts_next(sites, whole, part)) {
		calls += sites_at(sites, site)->calls;
		freed += sites_at(sites, site)->freed_calls;
	}
	assert_int_equal(calls, THREADS * ROUNDS);
	assert_int_equal(freed, THREADS * ROUNDS / 2);
	assert_true(sites_at(sites, whole)->peak_calls <= calls);
	assert_true(sites_at(sites, whole)->peak_calls + THREADS * SITE_PART_CALLS >=
		    calls - freed);
}

static bool forgetting;

static void *forget(void *argument)
{
	while (__atomic_load_n(&forgetting, __ATOMIC_RELAXED))
		sites_forget(sites, &header);
	return argument;
}

/* What others know of a site stays as it is at any time, and what they find out meanwhile. */
static void test_baseline(void **state)
{
	struct live_site *site = sites_at(sites, whole);
	uint32_t part = take(whole, 1), node = live_site_node(site);
	pthread_t thread;

	(void)state;
	sites_allocate(sites, part, 0, (struct weight){1, 1}, 1 << 20);
	sites_allocate(sites, whole, 0, (struct weight){1, 1}, 1 << 20);
	end(whole, 1);
	sites_forget(sites, &header);
	for (uint32_t i = 0; i < 2; i++, site = sites_at(sites, part))
		assert_true(!site->calls && !site->bytes && !site->freed_calls &&
			    !site->freed_bytes && !site->peak_calls && !site->peak_bytes &&
			    !site->first && !site->since && !site->last);
	forgetting = true;
	assert_int_equal(pthread_create(&thread, NULL, forget, NULL), 0);
	for (uint32_t i = 0; i < 1000000; i++) {
		assert_false(sites_allocate(sites, part, 0, (struct weight){1, 1}, 0));
		site = sites_at(sites, whole);
		__atomic_store_n(&site->node, node, __ATOMIC_RELAXED);
		__atomic_fetch_or(&site->node, LIVE_SITE_HAS_PARTS, __ATOMIC_RELAXED);
		assert_true(sites_allocate(sites, whole, 0, (struct weight){1, 1}, 0));
		assert_int_equal(site->node, node | LIVE_SITE_HAS_PARTS);
	}
	__atomic_store_n(&forgetting, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

#define STACKS 20000

static uint64_t hashes[STACKS];
static uint32_t wholes[STACKS];

static void *take_all(void *argument)
{
	for (uint32_t i = 0; i < STACKS; i++)
		site_parts_take(sites, &header, wholes[i], hashes[i],
				(uint32_t)(uintptr_t)argument);
	return NULL;
}

/* Of each site they take their parts at about the same time. */
static void test_parts_at_once(void **state)
{
	enum { TAKERS = 2 };
	pthread_t threads[TAKERS];

	(void)state;
	for (uint32_t i = 0; i < STACKS; i++)
		wholes[i] = site_of(FRAME + 1 + i, &hashes[i]);
	for (size_t i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_all, (void *)i), 0);
	for (size_t i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < STACKS; i++)
		assert_int_equal(count_parts(wholes[i]), TAKERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_turns, setup),
		cmocka_unit_test_setup(test_who_gets_which, setup),
		cmocka_unit_test_setup(test_longer_stacks_are_no_parts, setup),
		cmocka_unit_test_setup(test_another_stacks_hash, setup),
		cmocka_unit_test_setup(test_no_room, setup),
		cmocka_unit_test_setup(test_peaks, setup),
		cmocka_unit_test_setup(test_part_that_is_not_linked_yet, setup),
		cmocka_unit_test_setup(test_more_freed_than_allocated, setup),
		cmocka_unit_test_setup(test_whole_that_grows, setup),
		cmocka_unit_test_setup(test_steps_of_a_high_peak, setup),
		cmocka_unit_test_setup(test_peak_of_large_blocks, setup),
		cmocka_unit_test_setup(test_several_threads, setup),
		cmocka_unit_test_setup(test_baseline, setup),
		cmocka_unit_test_setup(test_parts_at_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
