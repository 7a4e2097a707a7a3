/*
 * The segments of leaf_cache.h: when they are used, and that they are never used wrongly. The
 * stacks are words of an array, their code is addresses whose rules are put into the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "agent/unwind/leaf_cache.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/stack_cache.h"
#include "agent/unwind/unwind.h"
#include "cached_frame.h"

#define WORDS     1024
#define FRAMES    100
#define BROKEN_PC 2

/* Code at a made-up address: CFA = sp + 32, or fp + 32, and the fp that it keeps at CFA - 16. */
enum code {
	PLAIN = 0x10000,    /* keeps none */
	SAVES_FP = 0x20000, /* by sp */
	BY_FP = 0x30000,
	OTHER = 0x40000, /* as PLAIN, until a test changes it */
};
#define CODES      64 /* addresses of each */
#define NEIGHBOURS UINT64_C(0x50000)

/*
 * Where the stacks lie: always there, so that which leaves share a place of the cache does not
 * depend on the loader's choice.
 */
#define WORDS_ADDRESS 0x20000000

static uint64_t *words;
static struct stack_cache cache;
static struct unwind_stack bounds;

static void *allocate(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static uint16_t rule_of(enum code code, unsigned offset)
{
	unsigned base = code == BY_FP ? 0 : RULE_BASE_SP;
	unsigned slot = code == BY_FP || code == SAVES_FP ? 2 : 0;

	return (uint16_t)(base | slot << RULE_SLOT_SHIFT | offset / 8);
}

static void set_rules(enum code code, unsigned offset)
{
	rule_table_forget(code, code + CODES);
	for (uint64_t pc = code + 1; pc <= code + CODES; pc++)
		rule_table_insert(pc, rule_of(code, offset));
}

static int setup(void **state)
{
	const struct unwind_host host = {.allocate = allocate};

	(void)state;
	if (!words) {
		unwind_init(&host);
		words = mmap((void *)WORDS_ADDRESS, WORDS * sizeof(*words), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	assert_ptr_equal(words, WORDS_ADDRESS);
	set_rules(PLAIN, 32);
	set_rules(SAVES_FP, 32);
	set_rules(BY_FP, 32);
	set_rules(OTHER, 32);
	memset(words, 0, WORDS * sizeof(*words));
	cache = (struct stack_cache){.depth_max = FRAMES, .broken_pc = BROKEN_PC};
	return 0;
}

/*
 * The stack that begins at words[at]: count frames of 4 words, innermost first, then the end.
 * Its first fp is that of its innermost frame by fp, if it has one.
 */
static struct unwind_state put_stack(size_t at, const uint64_t *pcs, size_t count)
{
	struct unwind_state state = {.pc = pcs[0], .sp = (uint64_t)&words[at]};
	uint64_t *fp_word = &state.fp;

	for (size_t i = 0; i < count; i++) {
		uint64_t *frame = &words[at + 4 * i];
		enum code code = pcs[i] & ~UINT64_C(0xffff);

		if (code == BY_FP)
			*fp_word = (uint64_t)frame;
		if (code == BY_FP || code == SAVES_FP)
			fp_word = &frame[2];
		frame[3] = i + 1 < count ? pcs[i + 1] : 0;
	}
	return state;
}

/* Captures, compares with the plain walk. Returns whether a segment was used. */
static bool capture(const struct unwind_state *state)
{
	uint64_t pcs[FRAMES + 1];
	size_t count = 0;
	enum unwind_end plain = unwind_capture(state, &bounds, pcs, FRAMES, &count);
	uint32_t hits = cache.leaves ? cache.leaves->hits : 0;
	enum unwind_end end = stack_cache_capture(&cache, state, &bounds);

	if (plain == UNWIND_BROKEN)
		pcs[count++] = BROKEN_PC;
	assert_int_equal(end, plain);
	assert_int_equal(cache.depth, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(cached_frame(&cache, count - i)->pc, pcs[i]);
	return cache.leaves->hits != hits;
}

/* Outer frames that all stacks of a test share: they lie at words[100]. */
static const uint64_t outer[] = {PLAIN + 1, SAVES_FP + 2, PLAIN + 3};

/* These on top of the outer ones. */
static struct unwind_state put_leaf(const uint64_t *pcs, size_t count)
{
	uint64_t all[FRAMES];

	memcpy(all, pcs, count * sizeof(*pcs));
	memcpy(all + count, outer, sizeof(outer));
	return put_stack(100 - 4 * count, all, count + 3);
}

static const uint64_t leaf_a[] = {PLAIN + 10, SAVES_FP + 11};
static const uint64_t leaf_b[] = {PLAIN + 20, PLAIN + 21, PLAIN + 22};

/* Captures a and then b on the same outer frames, as a program that calls both. */
static bool capture_a(void)
{
	struct unwind_state state = put_leaf(leaf_a, 2);

	return capture(&state);
}

static bool capture_b(void)
{
	struct unwind_state state = put_leaf(leaf_b, 3);

	return capture(&state);
}

static void test_used_when_called_again(void **unused)
{
	(void)unused;
	assert_false(capture_a());
	assert_false(capture_b());
	assert_false(capture_a());
	for (int i = 0; i < 10; i++) {
		assert_true(capture_b());
		assert_true(capture_a());
	}
}

static void test_each_word_counts(void **unused)
{
	unsigned used = 0;

	(void)unused;
	for (size_t at = 80; at < 112; at++) {
		static const uint64_t others[] = {PLAIN + 40, BY_FP + 41, 0, 8};

		for (size_t i = 0; i < 4; i++) {
			struct unwind_state state;

			capture_a();
			capture_b();
			capture_a();
			capture_b();
			state = put_leaf(leaf_a, 2);
			words[at] = others[i];
			state.fp = (uint64_t)&words[104];
			used += capture(&state);
			words[at] = 0;
		}
	}
	// Not by those that hold nothing.
	assert_in_range(used, 20, 120);
}

static void test_fp_counts_where_it_matters(void **unused)
{
	static const uint64_t by_fp[] = {PLAIN + 10, BY_FP + 11};
	struct unwind_state state, plain;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		capture_b();
		state = put_leaf(by_fp, 2);
		assert_int_equal(capture(&state), i > 0);
	}
	capture_b();
	state = put_leaf(by_fp, 2);
	state.fp -= 8; // the return address then is that of the word before
	words[98] = PLAIN + 30;
	assert_false(capture(&state));
	capture_b();
	plain = put_leaf(leaf_a, 2);
	capture(&plain);
	capture_b();
	plain = put_leaf(leaf_a, 2);
	capture(&plain);
	capture_b();
	plain = put_leaf(leaf_a, 2);
	plain.fp ^= 64; // nobody asks for it
	assert_true(capture(&plain));
}

/*
 * The leaf hands an fp through to the frame that it joins; that was met with another one since,
 * and all words that either walk reads still hold.
 */
static void test_fp_of_the_joined_frame(void **unused)
{
	static const uint64_t leaves[] = {PLAIN + 10, PLAIN + 20, PLAIN + 30, PLAIN + 10,
					  PLAIN + 30};

	(void)unused;
	for (int i = 0; i < 20; i++) {
		const uint64_t pcs[] = {leaves[i % 5], BY_FP + 1, PLAIN + 1};
		struct unwind_state state = put_stack(100, pcs, 3);

		// By one fp its caller is the frame at 108, by the other that at 116.
		words[115] = PLAIN + 2;
		words[119] = 0;
		if (i % 5 % 3)
			state.fp += 64;
		capture(&state);
		assert_int_equal(cache.depth, 3);
		assert_int_equal(cached_frame(&cache, 1)->pc, i % 5 % 3 ? PLAIN + 2 : PLAIN + 1);
	}
}

/* One function at one place of the stack, called by two in turn: each has a segment. */
static void test_variants(void **unused)
{
	static const uint64_t of_two[2][3] = {{PLAIN + 10, PLAIN + 11, PLAIN + 12},
					      {PLAIN + 10, PLAIN + 11, PLAIN + 13}};

	(void)unused;
	for (int i = 0; i < 20; i++) {
		struct unwind_state state = put_leaf(of_two[i % 2], 3);

		assert_int_equal(capture(&state), i > 2);
	}
}

/* What a segment leaves where it is comes into its place when somebody asks for it. */
static void test_settle(void **unused)
{
	uint64_t pcs[FRAMES];
	size_t count;

	(void)unused;
	for (int i = 0; i < 6; i++) {
		bool hit = i % 2 ? capture_a() : capture_b();

		assert_int_equal(hit, i > 2);
		assert_int_equal(cache.settled != cache.depth, hit);
		count = cache.depth;
		for (size_t j = 1; j <= count; j++)
			pcs[j] = cached_frame(&cache, j)->pc;
		stack_cache_settle(&cache);
		assert_int_equal(cache.depth, count);
		for (size_t j = 1; j <= count; j++)
			assert_int_equal(cache.frames[j].pc, pcs[j]);
	}
}

static const struct leaf_segment *first_place(const struct unwind_state *state)
{
	return leaf_cache_place(cache.leaves, state);
}

/* Two leaves that fall on one place: one of them finds another. */
static void test_two_places(void **unused)
{
	struct unwind_state first, other;
	uint64_t one = PLAIN + 1, two = NEIGHBOURS;

	(void)unused;
	capture_a();
	first = put_leaf(&one, 1);
	do {
		two++;
		other = put_leaf(&two, 1);
	} while (first_place(&other) != first_place(&first));
	rule_table_insert(two, rule_of(PLAIN, 32));
	for (int i = 0; i < 20; i++) {
		first = put_leaf(&one, 1);
		assert_true(capture(&first) || i < 4);
		other = put_leaf(&two, 1);
		assert_true(capture(&other) || i < 4);
	}
}

/* More leaves than there is room for push each other out, and none is found wrongly. */
static void test_eviction(void **unused)
{
	uint64_t pcs[2];
	unsigned hits = 0;

	(void)unused;
	capture_a();
	for (unsigned i = 0; i < 40 * LEAF_SEGMENTS_FIRST; i++) {
		struct unwind_state state;

		pcs[0] = PLAIN + 1 + i % 40;
		pcs[1] = SAVES_FP + 1 + i % (4 * LEAF_SEGMENTS_FIRST) / 40;
		state = put_leaf(pcs, 2);
		hits += capture(&state);
		assert_int_equal(cached_frame(&cache, cache.depth)->pc, pcs[0]);
	}
	assert_in_range(hits, 1, 30 * LEAF_SEGMENTS_FIRST);
}

/* The same leaf at the same place, on a stack that has another depth there. */
static void test_on_other_outer_frames(void **unused)
{
	struct unwind_state state;
	uint64_t all[8];

	(void)unused;
	for (int i = 0; i < 6; i++) {
		capture_b();
		capture_a();
		memcpy(all, leaf_a, sizeof(leaf_a));
		memcpy(all + 2, outer, sizeof(outer));
		all[5] = PLAIN + 50;
		all[6] = SAVES_FP + 51;
		state = put_stack(92, all, 5 + (size_t)i % 3);
		capture(&state);
	}
}

static void test_not_on_set_frames(void **unused)
{
	uint64_t pcs[] = {PLAIN + 60, outer[0], outer[1], outer[2]};

	(void)unused;
	for (int i = 0; i < 3; i++) {
		capture_a();
		capture_b();
	}
	assert_true(capture_a());
	assert_true(stack_cache_set(&cache, pcs, 4));
	assert_false(capture_b());
	assert_true(stack_cache_set(&cache, NULL, 0));
	assert_false(capture_a());
	assert_true(capture_b());
}

static void test_not_on_broken_stacks(void **unused)
{
	(void)unused;
	for (int i = 0; i < 6; i++) {
		struct unwind_state state = put_leaf(i % 2 ? leaf_a : leaf_b, i % 2 ? 2 : 3);

		// The outermost frame is by an fp that is nowhere.
		words[107] = BY_FP + 9;
		words[102] = words[106] = 8;
		state.fp = 8;
		assert_false(capture(&state));
		assert_int_equal(cache.end, UNWIND_BROKEN);
	}
}

/* By fp, each needed by the next: two words each, which a segment has room for. */
#define LEAF_SAVING LEAF_FRAMES
_Static_assert(LEAF_WORDS >= 2 * LEAF_FRAMES, "code without tables");

/* Longer than a segment may be, and just as long. */
static void test_long_leaves(void **unused)
{
	uint64_t frames[LEAF_FRAMES + 1], saving[LEAF_SAVING + 1];
	struct unwind_state state;

	(void)unused;
	for (uint64_t i = 0; i <= LEAF_FRAMES; i++)
		frames[i] = PLAIN + 20 + i;
	for (uint64_t i = 0; i <= LEAF_SAVING; i++)
		saving[i] = BY_FP + 20 + i;
	for (int i = 0; i < 5; i++) {
		state = put_leaf(frames, LEAF_FRAMES + 1);
		assert_false(capture(&state));
		state = put_leaf(saving, LEAF_SAVING + 1);
		assert_false(capture(&state));
	}
	for (int i = 0; i < 5; i++) {
		state = put_leaf(frames, LEAF_FRAMES);
		assert_int_equal(capture(&state), i > 0);
		state = put_leaf(saving, LEAF_SAVING);
		assert_int_equal(capture(&state), i > 0);
	}
}

/* A library is unloaded, and another one loaded where it was: equal pcs, other frames. */
static void test_other_code(void **unused)
{
	static const uint64_t unloaded[] = {PLAIN + 10, OTHER + 11};
	struct unwind_state state;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		capture_b();
		state = put_leaf(unloaded, 2);
		assert_int_equal(capture(&state), i > 0);
	}
	set_rules(OTHER, 48);
	stack_cache_clear(&cache);
	capture_b();
	state = put_leaf(unloaded, 2);
	words[101] = PLAIN + 33; // what it returns to by its new rule
	assert_false(capture(&state));
}

/* Leaves that never come twice. */
static void capture_new_leaves(unsigned count)
{
	static unsigned next;

	for (unsigned i = 0; i < count; i++) {
		uint64_t pcs[] = {PLAIN + 1 + next % 62, PLAIN + 1 + next / 62 % 62};
		struct unwind_state state = put_leaf(pcs, 2);

		next++;
		// That it was never here: also where a place holds one of before.
		memset(cache.leaves->segments, 0, sizeof(cache.leaves->segments));
		assert_false(capture(&state));
	}
}

/* Where nothing succeeds it grows to its full size, and only then pauses. */
static void test_pause(void **unused)
{
	(void)unused;
	capture_a();
	for (uint32_t size = LEAF_SEGMENTS_FIRST; size < LEAF_SEGMENTS_MAX; size *= 2) {
		assert_int_equal(leaf_cache_size(cache.leaves), size);
		capture_new_leaves(LEAF_TRIES - cache.leaves->tries);
		assert_int_equal(cache.leaves->pause, 0);
	}
	assert_int_equal(leaf_cache_size(cache.leaves), LEAF_SEGMENTS_MAX);
	capture_new_leaves(LEAF_TRIES - cache.leaves->tries);
	assert_int_equal(cache.leaves->pause, LEAF_PAUSE);
	for (int i = 0; i < 100; i++) {
		assert_false(capture_a());
		assert_false(capture_b());
	}
	assert_int_equal(cache.leaves->pause, LEAF_PAUSE - 200);
	cache.leaves->pause = 1;
	assert_false(capture_a());
	assert_int_equal(cache.leaves->pause, 0);
	capture_b();
	capture_a();
	assert_true(capture_b());
}

static void test_no_pause_while_it_pays(void **unused)
{
	(void)unused;
	for (int i = 0; i < 3 * LEAF_TRIES; i++) {
		capture_a();
		capture_b();
		assert_int_equal(cache.leaves->pause, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_used_when_called_again, setup),
		cmocka_unit_test_setup(test_each_word_counts, setup),
		cmocka_unit_test_setup(test_fp_counts_where_it_matters, setup),
		cmocka_unit_test_setup(test_fp_of_the_joined_frame, setup),
		cmocka_unit_test_setup(test_variants, setup),
		cmocka_unit_test_setup(test_settle, setup),
		cmocka_unit_test_setup(test_two_places, setup),
		cmocka_unit_test_setup(test_eviction, setup),
		cmocka_unit_test_setup(test_on_other_outer_frames, setup),
		cmocka_unit_test_setup(test_not_on_set_frames, setup),
		cmocka_unit_test_setup(test_not_on_broken_stacks, setup),
		cmocka_unit_test_setup(test_long_leaves, setup),
		cmocka_unit_test_setup(test_other_code, setup),
		cmocka_unit_test_setup(test_pause, setup),
		cmocka_unit_test_setup(test_no_pause_while_it_pays, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
