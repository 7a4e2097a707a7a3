#include "ebpf/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/first_where.h"
#include "ebpf/target/load_segments.h"
#include "ebpf/target/module_open.h"
#include "ebpf/target/process_check.h"
#include "hosted/cleanup.h"
#include "hosted/proc.h"

CLEANUP_DEFINE(struct target *, target_close);

/* How often the mappings are read again if one goes while its file is being opened. */
#define ATTEMPTS 4

/* The mappings while they are read. */
struct look {
	struct target *target;
	VEC(struct target_span) spans;
	bool strict; /* a file that cannot be opened is an error */
	bool moved;  /* a mapping is there no more: the list is not of one moment */
	/* The last file that turned out not to be a module. 0: none. */
	uint64_t none_device, none_inode;
	/* The last mapping of a file; inode 0: none. Its path is in path. */
	struct proc_mapping neighbour;
	char path[PATH_MAX];
};

static struct err *target_ended(const struct target *target)
{
	return err_create_errno(ESRCH, "process %d has ended", (int)target->pid);
}

/* The module of a mapping, if its file is known. TARGET_NO_MODULE: it is not. */
static uint32_t find_module(const struct target *target, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < target->modules.count; i++) {
		const struct target_module *module = &target->modules.items[i];
		bool same = module->memory ? strcmp(module->path, mapping->path) == 0
					   : mapping->inode && module->inode == mapping->inode &&
						     module->device == mapping->device;

		if (same)
			return (uint32_t)i;
	}
	return TARGET_NO_MODULE;
}

/* The module of a mapping, a new one if need be. */
static struct err *module_of(struct look *look, const struct proc_mapping *mapping, uint32_t *ret)
{
	struct target *target = look->target;
	struct target_module module;
	enum module_answer answer;
	struct err *why = NULL;

	*ret = find_module(target, mapping);
	if (*ret != TARGET_NO_MODULE || (mapping->inode && mapping->inode == look->none_inode &&
					 mapping->device == look->none_device))
		return NULL;
	if (!vec_reserve(&target->modules, 1))
		return err_no_memory();

	struct err *err = module_open(target, mapping, &answer, &module, &why);

	if (err)
		return err;
	if (answer == MODULE_REFUSED && look->strict)
		return why;
	err_destroy(why);
	if (answer == MODULE_IS) {
		*ret = (uint32_t)target->modules.count;
		target->modules.items[target->modules.count++] = module;
	} else if (answer == MODULE_GONE) {
		look->moved = true;
	} else {
		look->none_device = mapping->device;
		look->none_inode = mapping->inode;
	}
	return NULL;
}

static bool is_code(const struct proc_mapping *mapping)
{
	// The kernel's own: a page of system calls, and where it executes probed instructions.
	return mapping->executable && strcmp(mapping->path, "[vsyscall]") != 0 &&
	       strcmp(mapping->path, "[uprobes]") != 0;
}

/* The span's bias, by what its module's file has at the mapping's offset. */
static void set_bias(struct look *look, const struct proc_mapping *mapping,
		     struct load_segments *segments, struct target_span *span)
{
	struct target_module *module = &look->target->modules.items[span->module];
	uint64_t address;

	if (load_segments_read(module->fd, module->memory, module->memory_size, segments) &&
	    load_segments_address(segments, mapping->offset, &address))
		span->bias = mapping->start - address;
	else
		span->module = TARGET_NO_MODULE;
}

/*
 * Code in no file may be a copy of a file's text, on huge pages, where the text was: it lies where
 * the file before it has code. So it is that file's.
 */
static struct err *take_neighbour(struct look *look, struct target_span *span)
{
	const struct proc_mapping *neighbour = &look->neighbour;
	struct load_segments segments;
	bool strict = look->strict;
	struct err *err;

	if (!neighbour->inode)
		return NULL;
	look->strict = false; // it need not be a file with code
	err = module_of(look, neighbour, &span->module);
	look->strict = strict;
	if (err || span->module == TARGET_NO_MODULE)
		return err;
	set_bias(look, neighbour, &segments, span);
	if (span->module != TARGET_NO_MODULE &&
	    !load_segments_have_code(&segments, span->start - span->bias, span->end - span->bias)) {
		span->module = TARGET_NO_MODULE;
		span->bias = 0;
	}
	return NULL;
}

static struct err *add_span(struct look *look, const struct proc_mapping *mapping)
{
	struct target_span span = {.start = mapping->start, .end = mapping->end};
	struct err *err = module_of(look, mapping, &span.module);
	struct load_segments segments;

	if (!err && span.module != TARGET_NO_MODULE)
		set_bias(look, mapping, &segments, &span);
	else if (!err && mapping->path[0] != '[')
		err = take_neighbour(look, &span);
	if (err)
		return err;
	if (span.module != TARGET_NO_MODULE)
		look->target->modules.items[span.module].mapped = true;
	return vec_push(&look->spans, span) ? NULL : err_no_memory();
}

/* Remembers a mapping of a file with a name, and of no other kind. */
static void note_neighbour(struct look *look, const struct proc_mapping *mapping)
{
	if (!mapping->inode || mapping->path[0] != '/' ||
	    strlen(mapping->path) >= sizeof(look->path) ||
	    strcmp(mapping->path, "/anon_hugepage") == 0)
		return;
	strcpy(look->path, mapping->path);
	look->neighbour = *mapping;
	look->neighbour.path = look->path;
}

static struct err *read_maps(struct look *look)
{
	struct target *target = look->target;
	auto_close int fd = openat(target->proc, "maps", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	auto_free char *line = NULL;
	size_t capacity = 0, lines = 0;
	struct err *err = NULL;

	if (!file)
		return errno == ENOENT || errno == ESRCH
			       ? target_ended(target)
			       : err_create_errno(errno, "/proc/%d/maps", (int)target->pid);
	fd = -1;
	for (size_t i = 0; i < target->modules.count; i++)
		target->modules.items[i].mapped = false;
	for (; !err && getline(&line, &capacity, file) > 0; lines++) {
		struct proc_mapping mapping;

		if (!proc_mapping_read(line, &mapping))
			continue;
		if (is_code(&mapping))
			err = add_span(look, &mapping);
		note_neighbour(look, &mapping);
	}
	// The kernel shows a process that has ended, but was not waited for, without mappings.
	return err || lines ? err : target_ended(target);
}

static bool is_same_span(const struct target_span *a, const struct target_span *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->module == b->module;
}

static struct err *look_again(struct target *target, bool strict, bool *changed)
{
	struct look look = {.target = target, .strict = strict};
	struct err *err = NULL;

	for (int i = 0; !err && i < ATTEMPTS && (!i || look.moved); i++) {
		look.spans.count = 0;
		look.neighbour.inode = 0;
		look.moved = false;
		err = read_maps(&look);
	}
	if (err) {
		vec_deinit(&look.spans);
		return err;
	}

	size_t count = look.spans.count;

	*changed = count != target->spans.count;
	for (size_t i = 0; !*changed && i < count; i++)
		*changed = !is_same_span(&look.spans.items[i], &target->spans.items[i]);
	vec_deinit(&target->spans);
	target->spans.items = look.spans.items;
	target->spans.count = count;
	target->spans.capacity = look.spans.capacity;
	return NULL;
}

struct err *target_open(pid_t pid, struct target **ret)
{
	cleanup(target_close_at) struct target *target = calloc(1, sizeof(*target));
	bool changed;

	if (!target)
		return err_no_memory();
	target->pid = pid;
	target->proc = -1;

	struct err *err = process_check(pid, &target->proc, &target->program, &target->facts);

	if (!err)
		err = look_again(target, true, &changed);
	if (err)
		return err;
	*ret = steal(&target);
	return NULL;
}

void target_close(struct target *target)
{
	if (!target)
		return;
	for (size_t i = 0; i < target->modules.count; i++)
		module_close(&target->modules.items[i]);
	vec_deinit(&target->modules);
	vec_deinit(&target->spans);
	if (target->proc >= 0)
		close(target->proc);
	free(target->program);
	free(target);
}

struct err *target_refresh(struct target *target, bool *changed)
{
	return look_again(target, false, changed);
}

const struct target_span *target_find(const struct target *target, uint64_t address)
{
	const struct target_span *spans = target->spans.items;
	size_t at = first_where(i, 0, target->spans.count, spans[i].end > address);

	return at < target->spans.count && address >= spans[at].start ? &spans[at] : NULL;
}
