#include "ebpf/target/loader_state.h"

#include <string.h>

#include "symbols/load_segments.h"
#include "cfi/abi.h"
#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

/* The address in the file of a function that the image exports; 0: it does not. */
static uint64_t exported_address(const struct elf_image *image, const char *name)
{
	Elf_Data *data = elf_image_section_data(image, ".dynsym");
	Elf_Data *text = elf_image_section_data(image, ".dynstr");
	GElf_Sym symbol;

	for (int i = 0; data && text && gelf_getsym(data, i, &symbol); i++)
		if (symbol.st_name < text->d_size && symbol.st_shndx != SHN_UNDEF &&
		    !strcmp((const char *)text->d_buf + symbol.st_name, name))
			return symbol.st_value;
	return 0;
}

/* By its name: ld-linux-x86-64.so.2, ld-2.31.so, ld-musl-x86_64.so.1; musl's may be libc.so. */
static bool may_be_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.", 3) || !strcmp(name, "libc.so");
}

static struct err *look_into(const struct target *target, const struct target_span *span,
			     struct loader_state *ret)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	const struct target_module *module = &target->modules.items[span->module];
	struct load_segments segments;
	struct err *err;
	uint64_t value, left;

	if (!module->open_path || !may_be_loader(module->path))
		return NULL;
	err = elf_image_open(module->open_path, &image);
	if (err)
		return err;
	value = exported_address(image, "_dl_debug_state");
	if (value && load_segments_read(module->fd, NULL, 0, ARCH_ELF_MACHINE, &segments) &&
	    load_segments_offset(&segments, value, &ret->file_offset, &left)) {
		ret->found = true;
		ret->module = span->module;
		ret->address = value + span->bias;
	}
	return NULL;
}

struct err *loader_state_find(const struct target *target, struct loader_state *ret)
{
	struct err *err = NULL;

	*ret = (struct loader_state){0};
	for (size_t i = 0; !err && !ret->found && i < target->spans.count; i++)
		if (target->spans.items[i].module != TARGET_NO_MODULE)
			err = look_into(target, &target->spans.items[i], ret);
	return err;
}
