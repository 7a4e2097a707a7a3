#include "ebpf/target/loader_state.h"

#include <link.h>
#include <string.h>
#include <sys/uio.h>

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
	uint64_t value, list, left;

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
		ret->bias = span->bias;
		list = exported_address(image, "_r_debug");
		ret->list = list ? list + span->bias : 0;
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

/* Programs begin with some hundred libraries at most; a list may be a ring. */
#define LASTING_MAX 4096

static bool read_process(const struct target *target, uint64_t address, void *ret, size_t size)
{
	struct iovec into = {ret, size}, from = {(void *)(uintptr_t)address, size};

	return process_vm_readv(target->pid, &into, 1, &from, 1, 0) == (ssize_t)size;
}

struct err *lasting_modules_find(const struct target *target, struct lasting_modules *ret)
{
	struct loader_state loader;
	struct link_map map = {0};
	struct r_debug list;
	struct err *err = loader_state_find(target, &loader);

	*ret = (struct lasting_modules){.all = !err && (!loader.found || !loader.list)};
	if (err || ret->all || !read_process(target, loader.list, &list, sizeof(list)))
		return err;
	for (map.l_next = list.r_map; map.l_next && ret->biases.count < LASTING_MAX;) {
		if (!read_process(target, (uintptr_t)map.l_next, &map, sizeof(map)))
			break;
		if (!vec_push(&ret->biases, map.l_addr))
			return err_no_memory();
		if (map.l_addr == loader.bias)
			return NULL;
	}
	ret->biases.count = 0; // the loader is not in the list
	return NULL;
}

void lasting_modules_deinit(struct lasting_modules *lasting)
{
	vec_deinit(&lasting->biases);
}

bool lasting_modules_have(const struct lasting_modules *lasting, const struct target_span *span)
{
	if (span->module == TARGET_NO_MODULE || lasting->all)
		return lasting->all;
	for (size_t i = 0; i < lasting->biases.count; i++)
		if (lasting->biases.items[i] == span->bias)
			return true;
	return false;
}
