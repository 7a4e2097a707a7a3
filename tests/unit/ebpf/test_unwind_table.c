/*
 * Unwind tables of modules (ebpf/unwind_table.h): of ELF images made here, whose rows are known,
 * and of the C library, the loader, this program and the vdso, whose rows are what a search in
 * their .eh_frame_hdr finds for each pc.
 */
#include "ebpf/unwind/unwind_table.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../cfi/frame_writer.h"
#include "../check.h"
#include "../failing_malloc.h"
#include "cfi/rule_compile.h"
#include "ebpf/unwind/unwind_section.h"
#include "hosted/cleanup.h"

/* An image's addresses are its offsets. Code is what no test looks at. */
#define CODE_START  0x1000
#define CODE_END    0x3000
#define EH_FRAME    0x3000
#define HEADER      (EH_FRAME + FRAME_BYTES_MAX)
#define DEBUG_FRAME (HEADER + 0x1000)
#define NAMES       (DEBUG_FRAME + FRAME_BYTES_MAX)
#define SECTIONS    (NAMES + 0x100)
#define IMAGE_SIZE  (SECTIONS + 0x200)

struct image {
	struct frame_writer eh, debug;
	size_t cie, debug_cie;
	struct {
		uint32_t start, entry;
	} table[8];            /* of .eh_frame_hdr, sorted */
	unsigned table_count;  /* 0: there is no .eh_frame_hdr */
	bool without_sections; /* no section headers */
};

static struct image *image_create(void)
{
	struct image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	image->eh.address = EH_FRAME;
	image->debug.format = EH_FORMAT_DEBUG_FRAME;
	image->cie = frame_cie(&image->eh, false);
	image->debug_cie = frame_cie(&image->debug, false);
	image->debug.size = 0; // until a test needs it
	return image;
}

static void list_entry(struct image *image, uint32_t start, size_t offset)
{
	image->table[image->table_count].start = start - HEADER;
	image->table[image->table_count++].entry = (uint32_t)(EH_FRAME + offset) - HEADER;
}

static void write_sections(const struct image *image, uint8_t *bytes)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	Elf64_Shdr sections[4] = {
		{.sh_type = SHT_NULL},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = EH_FRAME,
		 .sh_offset = EH_FRAME,
		 .sh_size = image->eh.size},
		{.sh_name = 11,
		 .sh_type = SHT_PROGBITS,
		 .sh_offset = DEBUG_FRAME,
		 .sh_size = image->debug.size},
		{.sh_name = 24,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = NAMES,
		 .sh_size = sizeof(names)},
	};

	memcpy(bytes + NAMES, names, sizeof(names));
	memcpy(bytes + SECTIONS, sections, sizeof(sections));
}

static void write_segments(const struct image *image, uint8_t *bytes)
{
	uint8_t head[] = {1, EH_PE_PCREL | EH_PE_SDATA4, EH_PE_UDATA4,
			  EH_PE_DATAREL | EH_PE_SDATA4};
	uint32_t frames = (uint32_t)EH_FRAME - (HEADER + 4), count = image->table_count;
	Elf64_Phdr segments[3] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = CODE_START,
		 .p_vaddr = CODE_START,
		 .p_filesz = CODE_END - CODE_START},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = EH_FRAME,
		 .p_vaddr = EH_FRAME,
		 .p_filesz = DEBUG_FRAME - EH_FRAME},
		{.p_type = count ? PT_GNU_EH_FRAME : PT_NULL,
		 .p_offset = HEADER,
		 .p_vaddr = HEADER,
		 .p_filesz = 12 + count * 8},
	};

	memcpy(bytes + sizeof(Elf64_Ehdr), segments, sizeof(segments));
	memcpy(bytes + HEADER, head, sizeof(head));
	memcpy(bytes + HEADER + 4, &frames, 4);
	memcpy(bytes + HEADER + 8, &count, 4);
	memcpy(bytes + HEADER + 12, image->table, count * 8);
}

/* The image as a module in memory, which the caller frees. */
static struct target_module write_image(const struct image *image)
{
	uint8_t *bytes = calloc(1, IMAGE_SIZE);
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};

	assert_non_null(bytes);
	if (!image->without_sections) {
		header.e_shoff = SECTIONS;
		header.e_shentsize = sizeof(Elf64_Shdr);
		header.e_shnum = 4;
		header.e_shstrndx = 3;
	}
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + EH_FRAME, image->eh.bytes, image->eh.size);
	memcpy(bytes + DEBUG_FRAME, image->debug.bytes, image->debug.size);
	write_segments(image, bytes);
	write_sections(image, bytes);
	return (struct target_module){
		.path = (char *)"[image]", .fd = -1, .memory = bytes, .memory_size = IMAGE_SIZE};
}

/* "sp+16", "fp+16 fp@-16", "none", "broken", … */
static void write_rule(FILE *file, const struct unwind_rules *rules, uint16_t packed)
{
	struct unwind_rule rule = rules->list[packed % UNWIND_RULES_MAX];

	if (packed == RULE_NONE) {
		fputs("none", file);
		return;
	}
	if (packed >= RULE_PLAIN)
		unwind_rule_unpack(packed, &unwind_rules_registers, &rule);
	if (rule.kind == RULE_END)
		fputs("end", file);
	else if (rule.kind == RULE_BROKEN)
		fputs("broken", file);
	else
		fprintf(file, "%s%+d",
			rule.cfa_base == 7   ? "sp"
			: rule.cfa_base == 6 ? "fp"
					     : "r?",
			rule.cfa_offset);
	if (rule.fp.how == RULE_AT)
		fprintf(file, " fp@%d", rule.fp_offset);
}

/* The image's rows are these, as text: an address and a rule each. */
static void check_image(const struct image *image, struct unwind_rules *rules, const char *expected)
{
	struct target_module module = write_image(image);
	struct unwind_rows rows = {.list = VEC_EMPTY};
	auto_free char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_ok(unwind_table_add(&module, rules, &rows));
	for (size_t i = 0; i < rows.list.count; i++) {
		fprintf(file, "%s%x ", i ? ", " : "", rows.list.items[i].pc);
		write_rule(file, rules, rows.list.items[i].rule);
	}
	fclose(file);
	assert_string_equal(text, expected);
	vec_deinit(&rows.list);
	free(module.memory);
}

static void check_image_alone(struct image *image, const char *expected)
{
	auto_free struct unwind_rules *rules = calloc(1, sizeof(*rules));

	assert_non_null(rules);
	check_image(image, rules, expected);
	free(image);
}

static void gaps_and_neighbours(void **state)
{
	struct image *image = image_create();

	// push rbp; mov rsp, rbp
	FRAME_FDE(&image->eh, image->cie, 0x1000, 0x20, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6);
	frame_plain(&image->eh, image->cie, 0x1020, 0x10);
	frame_plain(&image->eh, image->cie, 0x1030, 0x10);
	frame_plain(&image->eh, image->cie, 0x1050, 0x10);
	FRAME_FDE(&image->eh, image->cie, 0x1060, 0x10, 0x07, 16);
	check_image_alone(image, "1000 sp+8, 1001 sp+16 fp@-16, 1004 fp+16 fp@-16, 1020 sp+8, "
				 "1040 none, 1050 sp+8, 1060 end, 1070 none");
}

/* The section itself is in any order, and has what linkers leave of discarded code. */
static void odd_order(void **state)
{
	struct image *image = image_create();

	frame_plain(&image->eh, image->cie, 0x1100, 0x10);
	frame_plain(&image->eh, image->cie, 0, 0x10);
	frame_plain(&image->eh, image->cie, 0x3000, 0x10);
	FRAME_FDE(&image->eh, image->cie, 0x1020, 0x100, 0x0e, 24);
	FRAME_FDE(&image->eh, image->cie, 0x1030, 0x10, 0x0e, 32);
	frame_plain(&image->eh, image->cie, 0x1034, 0);
	FRAME_FDE(&image->eh, image->cie, 0x2ff0, 0x100, 0x0e, 40);
	// An FDE ends where the next begins, and at the segment's end.
	check_image_alone(image, "1020 sp+24, 1030 sp+32, 1040 none, 1100 sp+8, 1110 none, "
				 "2ff0 sp+40, 3000 none");
}

static struct image *image_with_table(void)
{
	struct image *image = image_create();
	size_t a, b;

	b = FRAME_FDE(&image->eh, image->cie, 0x1040, 0x10, 0x0e, 24);
	a = FRAME_FDE(&image->eh, image->cie, 0x1000, 0x10, 0x0e, 16);
	frame_plain(&image->eh, image->cie, 0x1080, 0x10); // not in the table
	list_entry(image, 0x1000, a);
	list_entry(image, 0x1040, b);
	return image;
}

static void search_table(void **state)
{
	struct image *image = image_with_table();

	check_image_alone(image, "1000 sp+16, 1010 none, 1040 sp+24, 1050 none");
	image = image_with_table();
	image->without_sections = true;
	check_image_alone(image, "1000 sp+16, 1010 none, 1040 sp+24, 1050 none");
}

static void linkage_table(void **state)
{
	struct image *image = image_create();

	// As ld writes it: the first entry, then all others in one row.
	FRAME_FDE(&image->eh, image->cie, 0x1020, 0x40, 0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11,
		  0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	check_image_alone(image, "1020 sp+16, 1026 sp+24, 1030 sp+8, 103b sp+16, 1040 sp+8, "
				 "104b sp+16, 1050 sp+8, 105b sp+16, 1060 none");
}

static void debug_frame(void **state)
{
	struct image *image = image_create();

	frame_plain(&image->eh, image->cie, 0x1020, 0x20);
	image->debug_cie = frame_cie(&image->debug, false);
	FRAME_FDE(&image->debug, image->debug_cie, 0x1000, 0x30, 0x0e, 24);
	FRAME_FDE(&image->debug, image->debug_cie, 0x1050, 0x10, 0x0e, 32);
	FRAME_FDE(&image->debug, image->debug_cie, 0, 0x10, 0x0e, 32);
	check_image_alone(image, "1000 sp+24, 1020 sp+8, 1040 none, 1050 sp+32, 1060 none");

	image = image_create();
	image->debug_cie = frame_cie(&image->debug, false);
	image->eh.size = 0;
	frame_plain(&image->debug, image->debug_cie, 0x1000, 0x30);
	check_image_alone(image, "1000 sp+8, 1030 none");
}

static void damaged(void **state)
{
	struct unwind_rules *rules = calloc(1, sizeof(*rules));
	struct image *image = image_create();

	assert_non_null(rules);
	FRAME_FDE(&image->eh, image->cie, 0x1000, 0x10, 0x44, 0x3f);   // an unknown instruction
	FRAME_FDE(&image->eh, image->cie, 0x1010, 0x10, 0x0d, 17);     // no such register
	FRAME_FDE(&image->eh, image->cie, 0x1020, 0x10, 0x0c, 10, 16); // CFA = r10 + 16
	list_entry(image, 0x1000, image->eh.size);
	frame_plain(&image->eh, image->cie, 0x1000, 0x10);
	list_entry(image, 0x1080, 0x100000); // outside
	list_entry(image, 0x1090, 0);        // the CIE
	check_image(image, rules, "1000 sp+8, 1010 none, 1080 broken, 3000 none");
	assert_int_equal(rules->broken, 2);
	image->table_count = 0;
	image->eh.size -= 0x18;
	check_image(image, rules, "1000 sp+8, 1004 broken, 1020 r?+16, 1030 none");
	assert_int_equal(rules->broken, 4);
	assert_int_equal(rules->untracked, 1);
	image->eh.size = 3;
	check_image(image, rules, "");
	free(image);
	free(rules);
}

/* More wide rules than the list holds: their rows are broken, and counted. */
static void too_many_rules(void **state)
{
	struct unwind_rules *rules = calloc(1, sizeof(*rules));
	struct image *image = image_create();
	struct target_module module;
	struct unwind_rows rows = {.list = VEC_EMPTY};
	unsigned broken = 0;

	assert_non_null(rules);
	for (unsigned i = 0; i < 2100; i++) {
		const uint8_t code[] = {0x0e, 0x81 | (uint8_t)(i << 1), (uint8_t)(i >> 6 & 0x7f)};

		frame_fde(&image->eh, image->cie, 0x1000 + i, 1, code, sizeof(code));
	}
	module = write_image(image);
	for (unsigned round = 0; round < 2; round++) {
		rows.list.count = 0;
		assert_ok(unwind_table_add(&module, rules, &rows));
		assert_int_equal(rules->count, UNWIND_RULES_MAX);
	}
	for (size_t i = 0; i < rows.list.count; i++)
		broken += rows.list.items[i].rule == 1;
	assert_int_equal(rules->list[1].kind, RULE_BROKEN);
	assert_true(broken > 0 && rules->lost > 0);
	vec_deinit(&rows.list);
	free(module.memory);
	free(image);
	free(rules);
}

static void no_file(void **state)
{
	auto_free struct unwind_rules *rules = calloc(1, sizeof(*rules));
	struct unwind_rows rows = {.list = VEC_EMPTY};
	uint8_t text[] = "no ELF file";
	const struct target_module modules[] = {
		{.path = (char *)"gone", .open_path = (char *)"/nowhere/gone", .fd = STDIN_FILENO},
		{.path = (char *)"folder", .open_path = (char *)"/", .fd = STDIN_FILENO},
		{.path = (char *)"text", .fd = -1, .memory = text, .memory_size = sizeof(text)},
		{.path = (char *)"none", .fd = -1},
	};

	assert_non_null(rules);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		assert_ok(unwind_table_add(&modules[i], rules, &rows));
	assert_int_equal(rows.list.count, 0);
	vec_deinit(&rows.list);
}

static void no_memory(void **state)
{
	auto_free struct unwind_rules *rules = calloc(1, sizeof(*rules));
	struct unwind_rows rows = {.list = VEC_EMPTY};
	struct image *image = image_with_table();
	struct target_module module;
	unsigned failures = 0;

	assert_non_null(rules);
	image->debug_cie = frame_cie(&image->debug, false);
	frame_plain(&image->debug, image->debug_cie, 0x1100, 0x30);
	module = write_image(image);
	for (;; failures++) {
		struct err *err;

		atomic_store(&failing_malloc_countdown, failures);
		err = unwind_table_add(&module, rules, &rows);
		atomic_store(&failing_malloc_countdown, -1);
		if (!err)
			break;
		assert_true(err_is_shortage(err));
		err_destroy(err);
		assert_int_equal(rows.list.count, 0);
	}
	assert_in_range(failures, 5, 50);
	assert_int_equal(rows.list.count, 6);
	vec_deinit(&rows.list);
	free(module.memory);
	free(image);
}

static uint16_t find_row(const struct unwind_rows *rows, uint64_t pc)
{
	size_t low = 0, high = rows->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows->list.items[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? rows->list.items[low - 1].rule : RULE_NONE;
}

/* The rule of a pc is that of the row which a search finds. */
static void check_pc(const struct unwind_section *section, const struct unwind_rules *rules,
		     uint16_t packed, uint64_t pc)
{
	struct unwind_rule rule = {.kind = RULE_BROKEN}, found;
	struct eh_frame_row row;
	enum eh_frame_answer answer = eh_frame_find(&section->image, section->header, pc, 6, &row);

	if (packed == RULE_NONE) {
		assert_int_equal(answer, EH_FRAME_NONE);
		return;
	}
	if (answer == EH_FRAME_FOUND)
		rule_compile(&row, pc, &unwind_rules_registers, &rule);
	else
		assert_int_equal(answer, EH_FRAME_BAD);
	if (packed >= RULE_PLAIN)
		unwind_rule_unpack(packed, &unwind_rules_registers, &found);
	else
		found = rules->list[packed];
	assert_memory_equal(&found, &rule, sizeof(rule));
}

static void check_module(const struct target_module *module, struct elf_image *elf,
			 struct unwind_rules *rules, size_t rows_min)
{
	struct unwind_rows rows = {.list = VEC_EMPTY};
	struct unwind_section section;

	assert_ok(unwind_table_add(module, rules, &rows));
	assert_true(rows.list.count >= rows_min);
	assert_true(unwind_section_eh_frame(elf, &section));
	assert_true(section.has_header);
	for (size_t i = 0; i < rows.list.count; i++) {
		const struct unwind_row *row = &rows.list.items[i];

		assert_true(i == 0 || row[-1].pc < row->pc);
		assert_true(i == 0 || row[-1].rule != row->rule);
		check_pc(&section, rules, row->rule, row->pc);
		if (i > 0)
			check_pc(&section, rules, row[-1].rule, row->pc - 1);
	}
	for (uint64_t pc = 0; pc < rows.list.items[rows.list.count - 1].pc; pc += 37)
		check_pc(&section, rules, find_row(&rows, pc), pc);
	vec_deinit(&rows.list);
	elf_image_close(elf);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct target_module module = {.path = (char *)path, .open_path = (char *)path};
	struct elf_image *elf;

	module.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (module.fd < 0) // the vdso
		return 0;
	assert_ok(elf_image_open(path, &elf));
	check_module(&module, elf, data, 10);
	close(module.fd);
	return 0;
}

static void loaded_modules(void **state)
{
	struct unwind_rules *rules = calloc(1, sizeof(*rules));
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	assert_non_null(rules);
	dl_iterate_phdr(check_loaded, rules);
	assert_int_equal(rules->lost, 0);
	if (vdso) {
		// The table of its sections lies at its end.
		size_t size = vdso->e_shoff + vdso->e_shnum * sizeof(Elf64_Shdr);
		void *copy = malloc(size), *memory = malloc(size);
		struct target_module module = {
			.path = (char *)"[vdso]", .fd = -1, .memory = memory, .memory_size = size};
		struct elf_image *elf;

		assert_non_null(copy);
		assert_non_null(memory);
		memcpy(copy, vdso, size);
		memcpy(memory, vdso, size);
		assert_ok(elf_image_open_memory(copy, size, "[vdso]", &elf));
		check_module(&module, elf, rules, 3);
		free(memory);
	}
	free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_and_neighbours), cmocka_unit_test(odd_order),
		cmocka_unit_test(search_table),        cmocka_unit_test(linkage_table),
		cmocka_unit_test(debug_frame),         cmocka_unit_test(damaged),
		cmocka_unit_test(too_many_rules),      cmocka_unit_test(no_file),
		cmocka_unit_test(no_memory),           cmocka_unit_test(loaded_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
