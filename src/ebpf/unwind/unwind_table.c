/* See unwind_table.h. */
#include "ebpf/unwind/unwind_table.h"

#include <sys/stat.h>

#include "ebpf/unwind/section_rows.h"
#include "ebpf/unwind/unwind_section.h"
#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

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
static bool merge(const struct unwind_rows *first, const struct unwind_rows *second,
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
	    !section_rows_compile(&section, &code, rules, &first))
		return err_no_memory();
	if (unwind_section_debug_frame(elf, &section) &&
	    !section_rows_compile(&section, &code, rules, &second))
		return err_no_memory();
	return merge(&first, &second, ret) ? NULL : err_no_memory();
}
