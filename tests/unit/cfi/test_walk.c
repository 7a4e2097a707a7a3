/*
 * All rows of a section (eh_walk_entry()): they are what a search for each pc finds
 * (eh_frame_find()), on random instructions, on hand-made sections of both formats, and on the C
 * library's own tables, whole and damaged. Build with -Db_sanitize=address,undefined: images lie in
 * blocks of their size.
 */
#include "cfi/eh_frame.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame_writer.h"

#define RBP 6

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static bool equal_entries(const struct cfa_entry *a, const struct cfa_entry *b)
{
	return a->how == b->how && a->reg == b->reg && a->offset == b->offset;
}

static bool equal_rows(const struct cfa_row *a, const struct cfa_row *b)
{
	return equal_entries(&a->cfa, &b->cfa) && equal_entries(&a->saved, &b->saved) &&
	       equal_entries(&a->ra, &b->ra);
}

/* Each pc of a row finds that row, and rows follow each other without a gap. */
struct program_check {
	const struct cfa_program *program;
	uint64_t next;
	unsigned rows, bad;
};

static void check_program_row(void *argument, const struct cfa_row *row, uint64_t low,
			      uint64_t high)
{
	struct program_check *check = argument;
	struct cfa_row found;

	assert_int_equal(low, check->next);
	assert_true(high > low);
	for (uint64_t pc = low; pc < high; pc++) {
		bool good = cfa_program_run(check->program, pc, &found);

		assert_int_equal(good, row != NULL);
		if (row)
			assert_true(equal_rows(&found, row));
	}
	check->next = high;
	check->rows++;
	check->bad += row == NULL;
}

static void random_programs(void **state)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x80 | 16, 1};
	static const uint8_t common[] = {0x41, 0x44, 0x0e, 0x86, 0x0d,
					 0xc6, 0x0a, 0x0b, 0x02, 0x00};
	uint64_t seed = 88172645463325252u;
	unsigned rows = 0, bad = 0;

	for (unsigned round = 0; round < 20000; round++) {
		uint8_t code[24];
		struct eh_image first = {initial, sizeof(initial), 0};
		struct eh_image second = {code, sizeof(code), 0x200};
		struct cfa_program program = {
			.initial = {.image = &first, .end = sizeof(initial)},
			.instructions = {.image = &second, .end = next_random(&seed) % 25},
			.start = 0x1000,
			.code_align = 1,
			.data_align = -8,
			.saved_register = RBP,
			.ra_register = 16,
		};
		struct program_check check = {.program = &program, .next = program.start};

		for (unsigned i = 0; i < sizeof(code); i++) {
			uint64_t random = next_random(&seed);

			code[i] = random % 8 ? common[random / 8 % sizeof(common)]
					     : (uint8_t)(random >> 32);
		}
		cfa_program_walk(&program, 0x1040, check_program_row, &check);
		assert_int_equal(check.next, 0x1040);
		rows += check.rows;
		bad += check.bad;
	}
	// The programs are neither all damaged nor all of one row.
	assert_in_range(bad, 2000, 18000);
	assert_true(rows > 40000);
}

/* Rows as text: "1000-1004 rsp+8; ". */
struct listing {
	char text[4096];
};

static void list_row(void *argument, const struct eh_frame_row *row, uint64_t low, uint64_t high)
{
	struct listing *listing = argument;
	size_t used = strlen(listing->text);
	char *end = listing->text + used;
	size_t left = sizeof(listing->text) - used;

	if (!row)
		snprintf(end, left, "%lx-%lx bad; ", low, high);
	else
		snprintf(end, left, "%lx-%lx %s%ld%s; ", low, high,
			 row->row.cfa.reg == 7 ? "rsp+" : "rbp+", (long)row->row.cfa.offset,
			 row->signal ? " signal" : "");
}

/* The rows of the section from FDE to FDE. */
static struct listing list_section(const struct frame_writer *writer)
{
	uint8_t *copy = malloc(writer->size);
	struct eh_image image = {copy, writer->size, writer->address};
	struct listing listing = {{0}};
	struct eh_cursor cursor = eh_entry_at(&image, writer->address);
	struct eh_place place;
	struct eh_walk walk;

	assert_non_null(copy);
	memcpy(copy, writer->bytes, writer->size);
	eh_walk_begin(&walk, &image, writer->format, RBP);
	while (eh_walk_next(&walk, &cursor, &place)) {
		uint64_t start = place.start;

		assert_true(eh_walk_entry(&walk, place.entry, list_row, &listing));
		assert_int_equal(start, walk.last.program.start);
		assert_int_equal(place.size, walk.last.size);
	}
	free(copy);
	return listing;
}

static void both_formats(void **state)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		struct frame_writer *writer = calloc(1, sizeof(*writer));
		struct listing listing;
		size_t cie, signal;

		assert_non_null(writer);
		writer->wide = variant & 1;
		writer->format = variant & 2 ? EH_FORMAT_DEBUG_FRAME : EH_FORMAT_EH_FRAME;
		writer->address = variant & 2 ? 0 : 0x5000;
		cie = frame_cie(writer, false);
		FRAME_FDE(writer, cie, 0x1000, 0x20, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6);
		frame_plain(writer, cie, 0x1040, 0);
		signal = frame_cie(writer, true);
		frame_plain(writer, signal, 0x1030, 8);
		FRAME_FDE(writer, cie, 0x1020, 8, 0x44, 0x3f);
		listing = list_section(writer);
		assert_string_equal(listing.text, "1000-1001 rsp+8; 1001-1004 rsp+16; "
						  "1004-1020 rbp+16; 1030-1038 rsp+8 signal; "
						  "1020-1024 rsp+8; 1024-1028 bad; ");
		free(writer);
	}
}

/* An FDE whose CIE makes no sense is left out; a length of zero, or one too large, is the end. */
static void damaged_section(void **state)
{
	struct frame_writer *writer = calloc(1, sizeof(*writer));
	struct listing listing;
	size_t cie, end;

	assert_non_null(writer);
	writer->address = 0x5000;
	cie = frame_cie(writer, false);
	frame_plain(writer, cie, 0x1000, 8);
	frame_plain(writer, cie + 4, 0x1008, 8);
	frame_plain(writer, writer->size + 0x1000, 0x1010, 8);
	frame_plain(writer, cie, 0x1018, 8);
	end = writer->size;
	frame_number(writer, 0, 8);
	frame_plain(writer, cie, 0x1020, 8);
	listing = list_section(writer);
	assert_string_equal(listing.text, "1000-1008 rsp+8; 1018-1020 rsp+8; ");

	writer->size = end;
	frame_number(writer, 0xfffffff0, 4);
	frame_number(writer, 1, 8);
	listing = list_section(writer);
	assert_string_equal(listing.text, "1000-1008 rsp+8; 1018-1020 rsp+8; ");
	free(writer);
}

static void count_row(void *argument, const struct eh_frame_row *row, uint64_t low, uint64_t high)
{
	++*(unsigned *)argument;
}

/* A table that names one large FDE again and again: it is not read for ever. */
static void repeated_entry(void **state)
{
	struct frame_writer *writer = calloc(1, sizeof(*writer));
	struct eh_image image;
	struct eh_walk walk;
	uint8_t advances[20000];
	unsigned rows = 0, reads = 0;
	size_t cie, fde;

	assert_non_null(writer);
	memset(advances, 0x41, sizeof(advances));
	cie = frame_cie(writer, false);
	fde = frame_fde(writer, cie, 0x100000, 0x100000, advances, sizeof(advances));
	image = (struct eh_image){writer->bytes, writer->size, 0};
	eh_walk_begin(&walk, &image, EH_FORMAT_EH_FRAME, RBP);
	while (eh_walk_entry(&walk, fde, count_row, &rows))
		reads++;
	assert_in_range(reads, 4, 50);
	assert_int_equal(rows, reads * (sizeof(advances) + 1));
	free(writer);
}

/* The tables of the C library that this test runs with. */
struct tables {
	struct eh_image image;
	uint64_t header;
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
		uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uint64_t memory = info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && tables->header - start < memory)
			tables->image =
				(struct eh_image){(const uint8_t *)tables->header,
						  start + memory - tables->header, tables->header};
	}
	return 1;
}

/* Compares the rows of one FDE with what a search finds, up to the start of the next FDE. */
struct search_check {
	const struct eh_image *image;
	uint64_t header, start, limit;
	unsigned rows;
};

static void check_pc(const struct search_check *check, const struct eh_frame_row *row, uint64_t pc)
{
	struct eh_frame_row found;
	enum eh_frame_answer answer = eh_frame_find(check->image, check->header, pc, RBP, &found);

	if (!row) {
		assert_int_equal(answer, EH_FRAME_BAD);
		return;
	}
	assert_int_equal(answer, EH_FRAME_FOUND);
	assert_true(equal_rows(&found.row, &row->row));
	assert_int_equal(found.signal, row->signal);
	assert_int_equal(found.start, row->start);
}

static void check_searched(void *argument, const struct eh_frame_row *row, uint64_t low,
			   uint64_t high)
{
	struct search_check *check = argument;

	check->rows++;
	low = low > check->start ? low : check->start;
	high = high < check->limit ? high : check->limit;
	if (low >= high)
		return;
	check_pc(check, row, low);
	check_pc(check, row, low + (high - low) / 2);
	check_pc(check, row, high - 1);
}

/* Walks through the header's table. *bad: FDEs that make no sense. Returns the number of rows. */
static unsigned walk_table(const struct eh_image *image, uint64_t header, bool sorted,
			   unsigned *bad)
{
	struct search_check check = {.image = image, .header = header};
	struct eh_frame_table table;
	struct eh_walk walk;

	eh_walk_begin(&walk, image, EH_FORMAT_EH_FRAME, RBP);
	if (!eh_frame_table(image, header, &table))
		return 0;
	for (uint64_t i = 0; i < table.count; i++) {
		check.start = eh_frame_table_start(&table, i);
		check.limit =
			i + 1 < table.count ? eh_frame_table_start(&table, i + 1) : UINT64_MAX;
		*bad += !eh_walk_entry(&walk, eh_frame_table_entry(&table, i),
				       sorted ? check_searched : count_row,
				       sorted ? (void *)&check : &check.rows);
	}
	return check.rows;
}

static void whole_library(void **state)
{
	struct tables tables = {0};
	unsigned bad = 0, rows, scanned = 0;
	struct eh_frame_table table;
	struct eh_cursor cursor;
	struct eh_place place;
	struct eh_walk walk;

	dl_iterate_phdr(find_tables, &tables);
	assert_non_null(tables.image.bytes);
	rows = walk_table(&tables.image, tables.header, true, &bad);
	assert_int_equal(bad, 0);
	assert_true(rows > 10000);

	assert_true(eh_frame_table(&tables.image, tables.header, &table));
	cursor = eh_entry_at(&tables.image, table.frames);
	eh_walk_begin(&walk, &tables.image, EH_FORMAT_EH_FRAME, RBP);
	while (eh_walk_next(&walk, &cursor, &place))
		assert_true(eh_walk_entry(&walk, place.entry, count_row, &scanned));
	assert_int_equal(scanned, rows);
}

/* Any byte may be anything: rows may be wrong, reading must stay inside, and end. */
static void damaged_library(void **state)
{
	uint64_t seed = 4711;
	struct tables tables = {0};
	unsigned bad = 0, rows = 0;

	dl_iterate_phdr(find_tables, &tables);
	for (unsigned round = 0; round < 30; round++) {
		size_t size =
			round % 3 ? tables.image.size : next_random(&seed) % tables.image.size;
		uint8_t *copy = malloc(size);
		struct eh_image image = {copy, size, tables.header};

		assert_non_null(copy);
		memcpy(copy, tables.image.bytes, size);
		for (size_t i = 0; i < size / 40; i++) {
			size_t at = next_random(&seed) % size;

			if (at >= 12)
				copy[at] ^= (uint8_t)next_random(&seed);
		}
		rows += walk_table(&image, tables.header, false, &bad);
		free(copy);
	}
	assert_true(rows > 10000);
	assert_true(bad > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs), cmocka_unit_test(both_formats),
		cmocka_unit_test(damaged_section), cmocka_unit_test(repeated_entry),
		cmocka_unit_test(whole_library),   cmocka_unit_test(damaged_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
