/*
 * The readers of unwind tables alone: hand-made programs and expressions with known rows, then
 * every byte of a real .eh_frame broken at random. Build with -Db_sanitize=address,undefined: the
 * image lies in a heap block of its exact size.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi/eh_frame.h"
#include "cfi/rule_compile.h"

#define RBP 6
#define RIP 16
#define RSP 7

/* Runs FDE instructions behind the usual CIE's: CFA = rsp + 8, ra at CFA - 8. */
static bool run(const uint8_t *code, size_t size, uint64_t pc, struct cfa_row *ret)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x80 | 16, 1};
	struct eh_image first = {initial, sizeof(initial), 0x100};
	struct eh_image second = {code, size, 0x200};
	struct cfa_program program = {
		.initial = {.image = &first, .end = sizeof(initial)},
		.instructions = {.image = &second, .end = size},
		.start = 0x1000,
		.code_align = 1,
		.data_align = -8,
		.address_encoding = EH_PE_ABSPTR,
		.saved_register = RBP,
		.ra_register = 16,
	};

	return cfa_program_run(&program, pc, ret);
}

#define RUN(pc, row, ...)                                                                          \
	run((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), pc, row)

static void check_cfa(const struct cfa_row *row, uint32_t reg, int64_t offset)
{
	assert_int_equal(row->cfa.how, CFA_OFFSET);
	assert_int_equal(row->cfa.reg, reg);
	assert_int_equal(row->cfa.offset, offset);
}

static void test_prologue(void **state)
{
	// push rbp; mov rsp, rbp; …; leave: rows begin at 0x1001, 0x1004, 0x1020
	static const uint8_t code[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d,
				       6,    0x5c, 0x0c, 7,    8, 0xc6};
	struct cfa_row row;

	assert_true(run(code, sizeof(code), 0x1000, &row));
	check_cfa(&row, RSP, 8);
	assert_int_equal(row.saved.how, CFA_UNSPECIFIED);
	assert_int_equal(row.ra.offset, -8);
	assert_true(run(code, sizeof(code), 0x1001, &row));
	check_cfa(&row, RSP, 16);
	assert_int_equal(row.saved.how, CFA_OFFSET);
	assert_int_equal(row.saved.offset, -16);
	assert_true(run(code, sizeof(code), 0x1004, &row));
	check_cfa(&row, RBP, 16);
	assert_true(run(code, sizeof(code), 0x101f, &row));
	check_cfa(&row, RBP, 16);
	assert_true(run(code, sizeof(code), 0x1020, &row));
	check_cfa(&row, RSP, 8);
	assert_int_equal(row.saved.how, CFA_UNSPECIFIED);
}

static void test_states(void **state)
{
	struct cfa_row row;

	// remember; rbp saved, offset 32; restore
	assert_true(RUN(0x1000, &row, 0x0a, 0x0e, 32, 0x86, 2, 0x0b));
	check_cfa(&row, RSP, 8);
	assert_int_equal(row.saved.how, CFA_UNSPECIFIED);
	assert_false(RUN(0x1000, &row, 0x0b));
	assert_false(RUN(0x1000, &row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

static void test_every_instruction(void **state)
{
	struct cfa_row row;

	assert_true(RUN(0x1000, &row, 0x05, 6, 3)); // offset_extended
	assert_int_equal(row.saved.offset, -24);
	assert_true(RUN(0x1000, &row, 0x11, 6, 0x7d)); // offset_extended_sf -3
	assert_int_equal(row.saved.offset, 24);
	assert_true(RUN(0x1000, &row, 0x2f, 6, 3)); // GNU_negative_offset_extended
	assert_int_equal(row.saved.offset, 24);
	assert_true(RUN(0x1000, &row, 0x14, 6, 2)); // val_offset
	assert_int_equal(row.saved.how, CFA_VAL_OFFSET);
	assert_true(RUN(0x1000, &row, 0x15, 6, 0x7e)); // val_offset_sf
	assert_int_equal(row.saved.offset, 16);
	assert_true(RUN(0x1000, &row, 0x86, 2, 0x06, 6)); // restore_extended
	assert_int_equal(row.saved.how, CFA_UNSPECIFIED);
	assert_true(RUN(0x1000, &row, 0x07, 16)); // undefined
	assert_int_equal(row.ra.how, CFA_UNDEFINED);
	assert_true(RUN(0x1000, &row, 0x08, 6)); // same_value
	assert_int_equal(row.saved.how, CFA_SAME);
	assert_true(RUN(0x1000, &row, 0x09, 6, 3)); // register
	assert_int_equal(row.saved.how, CFA_REGISTER);
	assert_int_equal(row.saved.reg, 3);
	assert_true(RUN(0x1000, &row, 0x12, 6, 0x7e)); // def_cfa_sf
	check_cfa(&row, RBP, 16);
	assert_true(RUN(0x1000, &row, 0x13, 0x7c)); // def_cfa_offset_sf
	check_cfa(&row, RSP, 32);
	assert_true(RUN(0x1000, &row, 0x2e, 0x10, 0x0e, 24)); // GNU_args_size
	check_cfa(&row, RSP, 24);
	assert_true(RUN(0x1000, &row, 0x0f, 2, 0x76, 0x58)); // def_cfa_expression
	assert_int_equal(row.cfa.how, CFA_EXPRESSION);
	assert_int_equal(row.cfa.expression_size, 2);
	assert_true(RUN(0x1000, &row, 0x10, 6, 2, 0x76, 0)); // expression
	assert_int_equal(row.saved.how, CFA_EXPRESSION);
	assert_true(RUN(0x1000, &row, 0x16, 3, 1, 0x30)); // val_expression of another register
	assert_int_equal(row.saved.how, CFA_UNSPECIFIED);
}

static void test_advances(void **state)
{
	static const uint8_t code[] = {0x02, 0x10, 0x0e, 16,   0x03, 0x00, 0x01, 0x0e, 24,
				       0x04, 0x00, 0x00, 0x01, 0x00, 0x0e, 32,   0x01, 0,
				       0,    0,    0,    1,    0,    0,    0,    0x0e, 40};
	struct cfa_row row;

	assert_true(run(code, sizeof(code), 0x100f, &row));
	check_cfa(&row, RSP, 8);
	assert_true(run(code, sizeof(code), 0x1010, &row));
	check_cfa(&row, RSP, 16);
	assert_true(run(code, sizeof(code), 0x1110, &row));
	check_cfa(&row, RSP, 24);
	assert_true(run(code, sizeof(code), 0x11110, &row));
	check_cfa(&row, RSP, 32);
	assert_true(run(code, sizeof(code), 0x100000000, &row)); // set_loc
	check_cfa(&row, RSP, 40);
}

static void test_bad_programs(void **state)
{
	struct cfa_row row;

	assert_false(RUN(0x1000, &row, 0x3f));                   // unknown
	assert_false(RUN(0x1000, &row, 0x0e));                   // cut short
	assert_false(RUN(0x1000, &row, 0x0f, 9, 0x30));          // a block longer than what is left
	assert_false(RUN(0x1000, &row, 0x0f, 1, 0x30, 0x0e, 8)); // offset of an expression
	assert_false(RUN(0x1000, &row, 0x0e, 0x80, 0x80));       // an endless number
}

static bool reduce(const uint8_t *code, size_t size, const struct cfa_term *first,
		   struct cfa_term *ret)
{
	return cfa_expression_reduce(code, size, 0x401029, RIP, first, ret);
}

#define REDUCE(first, term, ...)                                                                   \
	reduce((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), first, term)

static void test_expressions(void **state)
{
	static const struct cfa_term cfa = {.kind = CFA_TERM_LINEAR, .reg = 99};
	struct cfa_term term;

	// gcc's realigned frame: *(rbp - 40)
	assert_true(REDUCE(NULL, &term, 0x76, 0x58, 0x06));
	assert_int_equal(term.kind, CFA_TERM_LOADED);
	assert_int_equal(term.reg, RBP);
	assert_int_equal(term.inner, -40);
	assert_int_equal(term.value, 0);
	// OpenSSL: *(rsp + 40) + 8
	assert_true(REDUCE(NULL, &term, 0x77, 40, 0x06, 0x23, 8));
	assert_int_equal(term.inner, 40);
	assert_int_equal(term.value, 8);
	// a PLT slot: rsp + 8 + ((rip & 15) >= 11) * 8, at …9: not yet pushed
	assert_true(
		REDUCE(NULL, &term, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	assert_int_equal(term.kind, CFA_TERM_LINEAR);
	assert_int_equal(term.reg, RSP);
	assert_int_equal(term.value, 8);
	// the same with a threshold that …9 has passed
	assert_true(
		REDUCE(NULL, &term, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22));
	assert_int_equal(term.value, 16);
	// relative to the CFA
	assert_true(REDUCE(&cfa, &term, 0x23, 0x10, 0x38, 0x1c));
	assert_int_equal(term.reg, 99);
	assert_int_equal(term.value, 8);
	assert_false(REDUCE(NULL, &term, 0x77, 0, 0x79, 0, 0x22)); // two registers
	assert_false(REDUCE(NULL, &term, 0x77, 0, 0x06, 0x06));    // two loads
	assert_false(REDUCE(NULL, &term, 0x22));                   // nothing on the stack
	assert_false(REDUCE(NULL, &term, 0x96));
	assert_false(REDUCE(NULL, &term, 0x0c, 1, 2)); // cut short
	assert_false(REDUCE(NULL, &term, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38));
}

/* The segment around the .eh_frame_hdr of the C library or the loader. */
struct tables {
	const uint8_t *segment;
	size_t size;
	uint64_t header; /* address */
	uint64_t text, text_size;
};

static int find_tables(struct dl_phdr_info *info, size_t size, void *data)
{
	struct tables *tables = data;

	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			tables->header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (tables->header - start < segment->p_memsz) {
			// Only from the header on: a mutation should hit what matters.
			tables->segment = (const uint8_t *)tables->header;
			tables->size = start + segment->p_memsz - tables->header;
		}
		if (segment->p_flags & PF_X) {
			tables->text = start;
			tables->text_size = segment->p_memsz;
		}
	}
	return 1;
}

static void read_tables(struct tables *ret)
{
	memset(ret, 0, sizeof(*ret));
	dl_iterate_phdr(find_tables, ret);
	assert_non_null(ret->segment);
	assert_true(ret->text_size > 0);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void test_whole_library(void **state)
{
	struct eh_frame_row row;
	struct tables tables;
	struct eh_image image;
	unsigned found = 0;

	read_tables(&tables);
	image = (struct eh_image){tables.segment, tables.size, tables.header};
	for (uint64_t pc = tables.text; pc < tables.text + tables.text_size; pc += 3) {
		enum eh_frame_answer answer = eh_frame_find(&image, tables.header, pc, RBP, &row);

		assert_int_not_equal(answer, EH_FRAME_BAD);
		found += answer == EH_FRAME_FOUND;
	}
	// Nearly all of the C library's code has tables; what lies between functions has none.
	assert_true(found > tables.text_size / 3 * 8 / 10);
}

/* Any byte may be anything: the answer may be wrong, reading must stay inside. */
static void mutate(const struct tables *tables, uint8_t *copy, uint64_t seed)
{
	struct eh_image image = {copy, tables->size, tables->header};
	struct eh_frame_row row;
	struct cfa_term term;

	memcpy(copy, tables->segment, tables->size);
	for (unsigned i = 0; i < tables->size / 40; i++)
		copy[next_random(&seed) % tables->size] ^= (uint8_t)next_random(&seed);
	if (seed % 4 != 0) // the header's few bytes decide whether anything else is read
		memcpy(copy, tables->segment, 12);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t pc = tables->text + next_random(&seed) % tables->text_size;

		if (eh_frame_find(&image, tables->header, pc, RBP, &row) == EH_FRAME_FOUND &&
		    row.row.cfa.how == CFA_EXPRESSION)
			cfa_expression_reduce(row.row.cfa.expression, row.row.cfa.expression_size,
					      pc, RIP, NULL, &term);
	}
}

static void test_mutations(void **state)
{
	const char *rounds = getenv("UNWIND_FUZZ_ROUNDS");
	struct tables tables;
	uint8_t *copy;

	read_tables(&tables);
	copy = malloc(tables.size);
	assert_non_null(copy);
	for (int i = 0; i < (rounds ? atoi(rounds) : 60); i++)
		mutate(&tables, copy, 88172645463325252u + (uint64_t)i * 7919);
	free(copy);
}

/* Every truncation of the image, in the dense part at its start and at random behind. */
static void test_truncations(void **state)
{
	struct eh_frame_row row;
	struct tables tables;
	uint64_t seed = 4711;

	read_tables(&tables);
	for (unsigned i = 0; i < 300; i++) {
		size_t size = i < 100 ? i : next_random(&seed) % tables.size;
		uint8_t *copy = malloc(size ? size : 1);
		struct eh_image image = {copy, size, tables.header};

		memcpy(copy, tables.segment, size);
		for (unsigned j = 0; j < 50; j++)
			eh_frame_find(&image, tables.header,
				      tables.text + next_random(&seed) % tables.text_size, RBP,
				      &row);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue),          cmocka_unit_test(test_states),
		cmocka_unit_test(test_every_instruction), cmocka_unit_test(test_advances),
		cmocka_unit_test(test_bad_programs),      cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_whole_library),     cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_truncations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
