#include "ebpf/hooks/image_code.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/first_where.h"
#include "cfi/abi.h"
#include "cfi/eh_frame.h"
#include "ebpf/arch/probe_place.h"

static int compare_starts(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

struct err *fde_ranges_read(const struct elf_image *image, struct fde_ranges *ret)
{
	Elf_Scn *scn = elf_image_section(image, ".eh_frame");
	Elf_Data *data = elf_image_section_data(image, ".eh_frame");
	struct eh_place place;
	struct eh_walk walk;
	GElf_Shdr header;

	if (!data || !gelf_getshdr(scn, &header))
		return NULL;

	const struct eh_image section = {data->d_buf, data->d_size, header.sh_addr};
	struct eh_cursor cursor = eh_entry_at(&section, section.address);

	eh_walk_begin(&walk, &section, EH_FORMAT_EH_FRAME, 0);
	while (eh_walk_next(&walk, &cursor, &place))
		if (place.size <= UINT64_MAX - place.start &&
		    !vec_push(&ret->list,
			      (struct fde_range){place.start, place.start + place.size}))
			return err_no_memory();
	if (ret->list.count)
		qsort(ret->list.items, ret->list.count, sizeof(*ret->list.items), compare_starts);
	return NULL;
}

void fde_ranges_deinit(struct fde_ranges *ranges)
{
	vec_deinit(&ranges->list);
}

const struct fde_range *fde_ranges_find(const struct fde_ranges *ranges, uint64_t address)
{
	const struct fde_range *items = ranges->list.items;
	size_t behind = first_where(i, 0, ranges->list.count, items[i].start > address);

	return behind && address < items[behind - 1].end ? &items[behind - 1] : NULL;
}

/* The longest function that is read. Allocators' have a few KiB. */
#define FUNCTION_MAX (256u << 10)

bool image_code_init(struct image_code *code, const struct elf_image *image)
{
	*code = (struct image_code){.image = image};
	return load_segments_read(image->fd, NULL, 0, ARCH_ELF_MACHINE, &code->segments);
}

void image_code_deinit(struct image_code *code)
{
	fde_ranges_deinit(&code->ranges);
	vec_deinit(&code->bytes);
}

bool image_code_offset(const struct image_code *code, uint64_t address, uint64_t *ret)
{
	uint64_t left;

	return load_segments_offset(&code->segments, address, ret, &left);
}

bool image_code_read(struct image_code *code, uint64_t address, uint64_t size)
{
	uint64_t offset, left;

	code->bytes.count = 0;
	if (!load_segments_offset(&code->segments, address, &offset, &left))
		return false;
	if (size > left)
		size = left;
	if (size > FUNCTION_MAX || !vec_reserve(&code->bytes, size))
		return false;
	if (pread(code->image->fd, code->bytes.items, size, (off_t)offset) != (ssize_t)size)
		return false;
	code->bytes.count = size;
	return true;
}

struct err *image_code_function(struct image_code *code, uint64_t address,
				const struct fde_range **ret)
{
	if (!code->ranges_known) {
		struct err *err = fde_ranges_read(code->image, &code->ranges);

		if (err)
			return err;
		code->ranges_known = true;
	}
	*ret = fde_ranges_find(&code->ranges, address);
	return NULL;
}

/* The symbol of the relocation that fills a slot of the global offset table. */
static bool slot_symbol(const struct elf_image *image, uint64_t slot, GElf_Sym *ret,
			const char **name)
{
	GElf_Shdr section, symbols;
	GElf_Rela entry;

	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn));) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_RELA)
			continue;

		Elf_Data *data = elf_getdata(scn, NULL);
		Elf_Scn *table = elf_getscn(image->elf, section.sh_link);
		Elf_Data *symbol_data = table ? elf_getdata(table, NULL) : NULL;

		for (int i = 0; data && symbol_data && gelf_getrela(data, i, &entry); i++) {
			if (entry.r_offset != slot)
				continue;
			if (!gelf_getsym(symbol_data, (int)GELF_R_SYM(entry.r_info), ret) ||
			    !gelf_getshdr(table, &symbols))
				return false;
			*name = elf_strptr(image->elf, symbols.sh_link, ret->st_name);
			return *name && **name;
		}
	}
	return false;
}

enum image_jump image_code_jump(struct image_code *code, uint64_t address, uint64_t *ret,
				const char **name)
{
	struct code_jump jump;
	GElf_Sym symbol;

	if (!image_code_read(code, address, CODE_JUMP_MAX))
		return IMAGE_JUMP_NONE;
	jump = probe_place_jump(code->bytes.items, code->bytes.count, address);
	if (jump.kind == CODE_JUMP_NONE)
		return IMAGE_JUMP_NONE;
	if (jump.kind == CODE_JUMP_DIRECT) {
		*ret = jump.address;
		return IMAGE_JUMP_HERE;
	}
	if (jump.kind == CODE_JUMP_UNKNOWN ||
	    !slot_symbol(code->image, jump.address, &symbol, name))
		return IMAGE_JUMP_UNKNOWN;
	if (symbol.st_shndx == SHN_UNDEF)
		return IMAGE_JUMP_OUTSIDE;
	*ret = symbol.st_value;
	return IMAGE_JUMP_HERE;
}
