/* The table of rules: growth, threads, forgetting, no memory; and the packing of rules. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "agent/unwind/arch.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"

#define PCS     100000
#define THREADS 4

static size_t allocations_left;

/* Like the agent's own pages, which are never returned. */
static void *allocate(size_t size)
{
	void *pages;

	if (allocations_left == 0)
		return NULL;
	allocations_left--;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

static unsigned find(uint64_t pc)
{
	return rule_table_find(atomic_load(&rule_table_current), pc);
}

static uint64_t pc_of(unsigned i)
{
	return 0x7f0000000000 + i * 13ul;
}

static uint16_t rule_of(unsigned i)
{
	return (uint16_t)(RULE_PLAIN + i * 7 % 0xf000);
}

static int begin(void **state)
{
	allocations_left = SIZE_MAX;
	rule_table_init(allocate);
	return 0;
}

static void test_growth(void **state)
{
	size_t small = rule_table_memory();

	for (unsigned i = 0; i < PCS; i++) {
		assert_int_equal(find(pc_of(i)), RULE_NONE);
		rule_table_insert(pc_of(i), rule_of(i));
		assert_int_equal(find(pc_of(i)), rule_of(i));
		if (i % 3 == 0)
			assert_int_equal(rule_table_set_id(pc_of(i), i + 1), i + 1);
	}
	for (unsigned i = 0; i < PCS; i++) {
		assert_int_equal(find(pc_of(i)), rule_of(i));
		assert_int_equal(rule_table_id(pc_of(i)), i % 3 == 0 ? i + 1 : 0);
	}
	assert_int_equal(find(pc_of(PCS)), RULE_NONE);
	assert_true(rule_table_memory() - small < PCS * 12 * 8);
}

static void test_ids(void **state)
{
	assert_int_equal(rule_table_id(pc_of(0)), 0);
	assert_int_equal(rule_table_set_id(pc_of(0), 5), 5); // no entry: not kept
	assert_int_equal(rule_table_id(pc_of(0)), 0);
	rule_table_insert(pc_of(0), rule_of(0));
	assert_int_equal(rule_table_set_id(pc_of(0), 6), 6);
	assert_int_equal(rule_table_set_id(pc_of(0), 7), 6);
	rule_table_after_fork();
	assert_int_equal(rule_table_id(pc_of(0)), 0);
	assert_int_equal(find(pc_of(0)), rule_of(0));
}

static void test_forget(void **state)
{
	struct rule_table *table;

	for (unsigned i = 0; i < 1000; i++) {
		rule_table_insert(pc_of(i), rule_of(i));
		rule_table_set_id(pc_of(i), i + 1);
	}
	// A return address at the very end of the range still belongs to it, one at its start not.
	rule_table_forget(pc_of(100), pc_of(200));
	for (unsigned i = 0; i < 1000; i++) {
		bool gone = i > 100 && i <= 200;

		assert_int_equal(find(pc_of(i)), gone ? RULE_NONE : rule_of(i));
		assert_int_equal(rule_table_id(pc_of(i)), gone ? 0 : i + 1);
	}
	rule_table_insert(pc_of(150), rule_of(1));
	assert_int_equal(find(pc_of(150)), rule_of(1));
	assert_int_equal(rule_table_id(pc_of(150)), 0);
	// Libraries that come and go at ever other addresses do not grow the table.
	for (unsigned i = 0; i < PCS; i++) {
		rule_table_insert(pc_of(i + 1000), rule_of(i));
		if (i % 500 == 0)
			rule_table_forget(pc_of(1000), pc_of(PCS * 2));
	}
	table = atomic_load(&rule_table_current);
	assert_true(table->mask < 16384);
	assert_int_equal(find(pc_of(500)), rule_of(500));
}

static void test_no_memory(void **state)
{
	allocations_left = 1;
	rule_table_init(allocate);
	for (unsigned i = 0; i < PCS; i++)
		rule_table_insert(pc_of(i), rule_of(i));
	assert_int_equal(find(pc_of(1)), rule_of(1));
	assert_int_equal(find(pc_of(PCS - 1)), RULE_NONE);
	rule_table_forget(0, UINT64_MAX);
	assert_int_equal(find(pc_of(1)), RULE_NONE);
}

static void test_odd_pcs(void **state)
{
	assert_int_equal(find(0), RULE_NONE);
	rule_table_insert(UINT64_MAX, rule_of(1));
	rule_table_insert(UINT64_C(1) << 48 | 0x1234, rule_of(1));
	assert_int_equal(find(UINT64_MAX), RULE_NONE);
	assert_int_equal(find(0x1234), RULE_NONE);
	rule_table_insert(1, rule_of(1));
	assert_int_equal(find(1), rule_of(1));
}

static atomic_uint_fast32_t next_id;
static uint8_t id_used[PCS * THREADS * 2];

/* All threads insert the same pcs in different orders while the table grows under them. */
static void *work(void *argument)
{
	unsigned step = (unsigned)(uintptr_t)argument * 2 + 1;
	uintptr_t wrong = 0;

	for (unsigned k = 0, i = 0; k < PCS; k++, i = (i + step * 997) % PCS) {
		unsigned rule = find(pc_of(i));

		if (rule == RULE_NONE)
			rule_table_insert(pc_of(i), rule_of(i));
		else
			wrong += rule != rule_of(i);
		if (!rule_table_id(pc_of(i)))
			rule_table_set_id(pc_of(i), (uint32_t)atomic_fetch_add(&next_id, 1) + 1);
		if (k % 10000 == 0)
			rule_table_forget(pc_of(i), pc_of(i + 20));
	}
	return (void *)wrong;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *wrong;

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	// No id stands for two pcs.
	for (unsigned i = 0; i < PCS; i++) {
		uint32_t id = rule_table_id(pc_of(i));

		assert_true(id < sizeof(id_used));
		assert_true(id == 0 || !id_used[id]);
		id_used[id] = 1;
	}
}

static void check_packing(const struct unwind_rule *rule, bool plain)
{
	uint16_t packed = rule_pack(rule);
	struct unwind_rule back;

	assert_int_not_equal(packed, RULE_NONE);
	assert_int_equal(packed >= RULE_PLAIN, plain);
	rule_unpack(packed, &back);
	assert_memory_equal(&back, rule, sizeof(back));
	assert_int_equal(rule_pack(rule), packed);
}

static void test_packing(void **state)
{
	struct unwind_rule rule = {
		.cfa_base = ARCH_DWARF_SP,
		.ra = {RULE_AT, RULE_BASE_CFA},
		.ra_offset = -8,
	};

	for (rule.cfa_offset = 8; rule.cfa_offset < 40000; rule.cfa_offset += 4096 - 8)
		check_packing(&rule, rule.cfa_offset <= 2047 * 8);
	rule.cfa_offset = 12;
	check_packing(&rule, false);
	rule.cfa_offset = 64;
	rule.fp = (struct rule_place){RULE_AT, RULE_BASE_CFA};
	for (rule.fp_offset = -200; rule.fp_offset <= 16; rule.fp_offset += 4)
		check_packing(&rule, rule.fp_offset % 8 == 0 && rule.fp_offset <= -8 &&
					     rule.fp_offset >= -120);
	rule.fp_offset = -16;
	rule.cfa_base = ARCH_DWARF_FP;
	check_packing(&rule, true);
	rule.kind = RULE_GUESS; // a table has them apart from the rules that are sure
	check_packing(&rule, false);
	rule.kind = RULE_STEP;
	rule.signal = 1;
	check_packing(&rule, false);
	rule = (struct unwind_rule){.kind = RULE_END};
	check_packing(&rule, false);
	rule = (struct unwind_rule){.cfa_base = ARCH_DWARF_FP, .cfa_offset = 16};
	rule.ra = (struct rule_place){RULE_AT, RULE_BASE_CFA};
	rule.ra_offset = -8;
	check_packing(&rule, false); // based on fp, which was not saved
}

/* When there are too many different wide rules, further ones are not kept, and nothing breaks. */
static void test_too_many_wide_rules(void **state)
{
	struct unwind_rule rule = {.cfa_base = ARCH_DWARF_SP, .cfa_add = 1};
	unsigned kept = 0;

	for (rule.cfa_offset = 0; rule.cfa_offset < 4000; rule.cfa_offset++)
		kept += rule_pack(&rule) != RULE_NONE;
	assert_in_range(kept, 1000, RULE_PLAIN - 1);
	rule.cfa_offset = 0;
	assert_int_not_equal(rule_pack(&rule), RULE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_growth, begin),
		cmocka_unit_test_setup(test_ids, begin),
		cmocka_unit_test_setup(test_forget, begin),
		cmocka_unit_test_setup(test_no_memory, begin),
		cmocka_unit_test_setup(test_odd_pcs, begin),
		cmocka_unit_test_setup(test_threads, begin),
		cmocka_unit_test(test_packing),
		cmocka_unit_test(test_too_many_wide_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
