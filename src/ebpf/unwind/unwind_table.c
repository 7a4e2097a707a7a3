/* See unwind_table.h. */
#include "ebpf/unwind/unwind_table.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "cfi/abi.h"
#include "cfi/eh_frame.h"
#include "cfi/rule_compile.h"
#include "ebpf/unwind/unwind_section.h"
#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

_Static_assert(sizeof(struct unwind_rule) == 24, "three words are hashed, and compared as bytes");

const struct unwind_registers unwind_rules_registers = ARCH_UNWIND_REGISTERS;

static const struct unwind_rule broken = {.kind = RULE_BROKEN};

static unsigned home_of(const struct unwind_rule *rule)
{
	const uint8_t *bytes = (const uint8_t *)rule;
	uint64_t hash = 0;

	for (unsigned i = 0; i < sizeof(*rule); i += 8)
		hash = (hash ^ bytes_u64(bytes + i)) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned)(hash >> 32);
}

/* The number of a wide rule. RULE_NONE: there is no room. */
static uint16_t intern_rule(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	// The index has more entries than there are rules: there always is an empty one.
	for (unsigned i = home_of(rule);; i++) {
		uint16_t *number = &rules->index[i % ARRAY_COUNT(rules->index)];

		if (*number && memcmp(&rules->list[*number], rule, sizeof(*rule)) == 0)
			return *number;
		if (*number)
			continue;
		if (rules->count == ARRAY_COUNT(rules->list))
			return RULE_NONE;
		rules->list[rules->count] = *rule;
		*number = (uint16_t)rules->count++;
		return *number;
	}
}

static bool is_tracked(const struct rule_place *place)
{
	return place->how == RULE_SAME || place->how == RULE_LOST || place->base == RULE_BASE_CFA ||
	       place->base == unwind_rules_registers.sp ||
	       place->base == unwind_rules_registers.fp ||
	       (unwind_rules_registers.link && place->base == unwind_rules_registers.pc);
}

static void count_row(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	struct rule_place cfa = {RULE_VALUE, rule->cfa_base};

	if (rule->kind == RULE_BROKEN)
		rules->broken++;
	else if (rule->kind == RULE_STEP && (!is_tracked(&cfa) || !is_tracked(&rule->ra)))
		rules->untracked++;
}

uint16_t unwind_rules_pack(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	uint16_t packed;

	if (!rule)
		rule = &broken;
	packed = unwind_rule_pack(rule, &unwind_rules_registers);
	if (packed != RULE_NONE)
		return packed;
	if (rules->count == 0) {
		rules->count = 1;
		intern_rule(rules, &broken); // so that there is room for it
	}
	count_row(rules, rule);
	packed = intern_rule(rules, rule);
	if (packed == RULE_NONE) {
		rules->lost++;
		packed = intern_rule(rules, &broken);
	}
	return packed;
}

/* Entries of a procedure linkage table have this size, and start at a multiple of it. */
#define PLT_ENTRY 16

/* An FDE's code, as far as it counts: [start, limit). */
struct place {
	uint64_t start, limit;
	uint64_t entry; /* the FDE's address in the section's image */
};

struct builder {
	const struct unwind_section *section;
	const struct code_ranges *code;
	struct unwind_rules *rules;
	struct unwind_rows *rows;
	VEC(struct place) places;
	const struct place *place; /* whose rows are being added */
	uint64_t end;              /* of the last row */
	bool no_memory;
};

static void push_row(struct builder *builder, uint64_t pc, uint16_t rule)
{
	struct unwind_rows *rows = builder->rows;
	size_t count = rows->list.count;

	if (count > 0 && rows->list.items[count - 1].rule == rule)
		return;
	if (!vec_push(&rows->list, (struct unwind_row){.pc = (uint32_t)pc, .rule = rule}))
		builder->no_memory = true;
}

/* Adds a row behind the last. rule NULL: RULE_BROKEN's. */
static void add_rule(struct builder *builder, uint64_t low, uint64_t high,
		     const struct unwind_rule *rule)
{
	if (builder->rows->list.count > 0 && builder->end < low)
		push_row(builder, builder->end, RULE_NONE);
	push_row(builder, low, unwind_rules_pack(builder->rules, rule));
	builder->end = high;
}

static struct unwind_rule rule_at(const struct eh_frame_row *row, uint64_t pc)
{
	struct unwind_rule rule = {.kind = RULE_BROKEN};

	rule_compile(row, pc, &unwind_rules_registers, &rule);
	return rule;
}

static bool has_expression(const struct eh_frame_row *row)
{
	const struct cfa_entry *entries[] = {&row->row.cfa, &row->row.ra, &row->row.saved};

	for (unsigned i = 0; i < 3; i++) {
		if (entries[i]->how == CFA_EXPRESSION || entries[i]->how == CFA_VAL_EXPRESSION)
			return true;
	}
	return false;
}

/*
 * At which places of a linkage table's entry the rule changes. Bit n: the rule for pc & 15 == n is
 * another than that of the pc before. 0: the rule does not depend on the pc.
 *
 * A lazy linkage table has one row for all its entries, whose CFA depends on whether an entry has
 * pushed its number already: rsp + 8 + (((pc & 15) >= 11) << 3).
 */
static unsigned find_changes(const struct eh_frame_row *row, uint64_t low, uint64_t high)
{
	struct unwind_rule last = rule_at(row, low);
	unsigned changes = 0;

	for (uint64_t pc = low + 1; pc < high && pc <= low + PLT_ENTRY; pc++) {
		struct unwind_rule rule = rule_at(row, pc);

		if (memcmp(&rule, &last, sizeof(rule)) != 0)
			changes |= 1u << pc % PLT_ENTRY;
		last = rule;
	}
	return changes;
}

static void add_row(void *argument, const struct eh_frame_row *row, uint64_t low, uint64_t high)
{
	struct builder *builder = argument;
	unsigned changes = 0;

	if (low < builder->place->start)
		low = builder->place->start;
	if (high > builder->place->limit)
		high = builder->place->limit;
	if (low >= high)
		return;
	if (!row) {
		add_rule(builder, low, high, NULL);
		return;
	}
	if (has_expression(row))
		changes = find_changes(row, low, high);
	while (low < high && !builder->no_memory) {
		struct unwind_rule rule = rule_at(row, low);
		uint64_t next = changes ? low + 1 : high;

		while (next < high && !(changes >> next % PLT_ENTRY & 1))
			next++;
		add_rule(builder, low, next, &rule);
		low = next;
	}
}

/* Keeps an FDE if its code is in the file. Linkers leave FDEs of discarded code at address 0. */
static void add_place(struct builder *builder, uint64_t start, uint64_t entry)
{
	for (size_t i = 0; i < builder->code->count; i++) {
		const struct code_range *range = &builder->code->list[i];

		if (start < range->start || start >= range->end)
			continue;
		if (!vec_push(&builder->places, (struct place){start, range->end, entry}))
			builder->no_memory = true;
		return;
	}
}

static void find_places(struct builder *builder, struct eh_walk *walk)
{
	const struct unwind_section *section = builder->section;
	struct eh_frame_table table = {.frames = section->start};
	struct eh_cursor cursor;
	struct eh_place place;

	if (section->has_header && eh_frame_table(&section->image, section->header, &table)) {
		for (uint64_t i = 0; i < table.count && !builder->no_memory; i++)
			add_place(builder, eh_frame_table_start(&table, i),
				  eh_frame_table_entry(&table, i));
		return;
	}
	cursor = eh_entry_at(&section->image, table.frames);
	if (section->end != 0 && section->end - section->image.address < section->image.size)
		cursor.end = (size_t)(section->end - section->image.address);
	while (!builder->no_memory && eh_walk_next(walk, &cursor, &place)) {
		if (place.size != 0)
			add_place(builder, place.start, place.entry);
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static void sort_places(struct builder *builder)
{
	struct place *items = builder->places.items;
	size_t count = builder->places.count;
	bool sorted = true;

	for (size_t i = 1; i < count; i++)
		sorted = sorted && items[i - 1].start <= items[i].start;
	if (!sorted)
		qsort(items, count, sizeof(*items), compare_places);
	for (size_t i = 1; i < count; i++) {
		if (items[i - 1].limit > items[i].start)
			items[i - 1].limit = items[i].start;
	}
}

/*
 * Appends the rows to *ret, which is empty. Rows of addresses that are no code are left out. Where
 * FDEs overlap, the one that starts last counts, as the search in .eh_frame_hdr finds it. False: no
 * memory.
 */
static bool compile_section(const struct unwind_section *section, const struct code_ranges *code,
			    struct unwind_rules *rules, struct unwind_rows *ret)
{
	struct builder builder = {.section = section, .code = code, .rules = rules, .rows = ret};
	struct eh_walk walk;

	eh_walk_begin(&walk, &section->image, section->format, unwind_rules_registers.fp);
	find_places(&builder, &walk);
	sort_places(&builder);
	for (size_t i = 0; i < builder.places.count && !builder.no_memory; i++) {
		const struct place *place = &builder.places.items[i];

		builder.place = place;
		if (place->start < place->limit &&
		    !eh_walk_entry(&walk, place->entry, add_row, &builder))
			add_rule(&builder, place->start, place->limit, NULL);
	}
	if (ret->list.count > 0)
		push_row(&builder, builder.end, RULE_NONE);
	vec_deinit(&builder.places);
	return !builder.no_memory;
}

/*
 * Appends rows for the code by which signal handlers return, if the module is the vDSO: arm64's has
 * no table. Its addresses are offsets in it. False: no memory.
 */
static bool add_signal_return(const struct target_module *module, struct unwind_rules *wide,
			      struct unwind_rows *ret)
{
	static const struct unwind_rule rules[] = {ARCH_SIGNAL_RETURN_RULE(1),
						   ARCH_SIGNAL_RETURN_RULE(2)};
	struct builder builder = {.rules = wide, .rows = ret};

	for (size_t at = 1; module->memory && at < module->memory_size; at++) {
		unsigned is = arch_is_signal_return(module->memory + at, module->memory_size - at);

		if (!is)
			continue;
		// A handler returns to the first byte, and the byte before is what is looked up.
		push_row(&builder, at - 1, unwind_rules_pack(wide, &rules[is - 1]));
		push_row(&builder, at + ARCH_SIGNAL_RETURN_MAX, RULE_NONE);
	}
	return !builder.no_memory;
}

static void unwind_rows_deinit(struct unwind_rows *rows)
{
	vec_deinit(&rows->list);
}

/* Opens the module's file. *ret NULL: there is none that can be read. */
static struct err *open_module(const struct target_module *module, struct elf_image **ret,
			       uint64_t *file_size)
{
	struct stat status;
	struct err *err;

	*ret = NULL;
	if (module->memory) {
		void *copy = malloc(module->memory_size);

		if (!copy)
			return err_no_memory();
		memcpy(copy, module->memory, module->memory_size);
		*file_size = module->memory_size;
		err = elf_image_open_memory(copy, module->memory_size, module->path, ret);
	} else if (module->open_path && module->fd >= 0 && fstat(module->fd, &status) == 0) {
		*file_size = (uint64_t)status.st_size;
		err = elf_image_open(module->open_path, ret);
	} else {
		return NULL;
	}
	if (err_is_shortage(err))
		return err;
	err_destroy(err);
	return NULL;
}

/* Appends the rows of both; where the first has RULE_NONE or no row, those of the second. */
static bool merge_rows(const struct unwind_rows *first, const struct unwind_rows *second,
		       struct unwind_rows *ret)
{
	const struct unwind_row *a = first->list.items, *a_end = a + first->list.count;
	const struct unwind_row *b = second->list.items, *b_end = b + second->list.count;
	uint16_t a_rule = RULE_NONE, b_rule = RULE_NONE, last = RULE_NONE;

	if (!vec_reserve(&ret->list, first->list.count + second->list.count))
		return false;
	while (a < a_end || b < b_end) {
		uint32_t a_pc = a < a_end ? a->pc : UINT32_MAX;
		uint32_t b_pc = b < b_end ? b->pc : UINT32_MAX;
		uint32_t pc = a_pc < b_pc ? a_pc : b_pc;
		uint16_t rule;

		if (a < a_end && a->pc == pc)
			a_rule = (a++)->rule;
		if (b < b_end && b->pc == pc)
			b_rule = (b++)->rule;
		rule = a_rule != RULE_NONE ? a_rule : b_rule;
		if (rule != last)
			ret->list.items[ret->list.count++] =
				(struct unwind_row){.pc = pc, .rule = rule};
		last = rule;
	}
	return true;
}

struct err *unwind_table_add(const struct target_module *module, struct unwind_rules *rules,
			     struct unwind_rows *ret)
{
	cleanup(elf_image_close_at) struct elf_image *elf = NULL;
	cleanup(unwind_rows_deinit) struct unwind_rows first = {.list = VEC_EMPTY};
	cleanup(unwind_rows_deinit) struct unwind_rows second = {.list = VEC_EMPTY};
	struct unwind_section section;
	struct code_ranges code;
	uint64_t file_size = 0;
	struct err *err = open_module(module, &elf, &file_size);

	if (err || !elf || !elf_image_is_laid_out_as_here(elf))
		return err;
	unwind_section_code(elf, file_size, &code);
	if (unwind_section_eh_frame(elf, &section) &&
	    !compile_section(&section, &code, rules, &first))
		return err_no_memory();
	if (unwind_section_debug_frame(elf, &section) &&
	    !compile_section(&section, &code, rules, &second))
		return err_no_memory();
	if (!second.list.count && !add_signal_return(module, rules, &second))
		return err_no_memory();
	return merge_rows(&first, &second, ret) ? NULL : err_no_memory();
}
