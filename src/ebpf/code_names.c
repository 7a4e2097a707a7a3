/* See code_names.h. */
#include "ebpf/code_names.h"

#include <stdio.h>
#include <string.h>

#include "ebpf/bpf/bpf_shared.h"
#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "symbols/perf_map.h"
#include "symbols/symbolizer.h"

struct code_names {
	struct symbolizer *symbolizer;
	VEC(struct target_span) spans; /* all that were seen; later ones count more */
	VEC(struct code_name) found;
	VEC(struct perf_map_place) made; /* sorted by address */
	struct arena made_names;
};

CLEANUP_DEFINE(struct code_names *, code_names_destroy);

struct err *code_names_create(struct code_names **ret)
{
	cleanup(code_names_destroy_at) struct code_names *names = calloc(1, sizeof(*names));
	struct err *err = names ? symbolizer_create(&names->symbolizer) : err_no_memory();

	if (!err)
		*ret = steal(&names);
	return err;
}

void code_names_destroy(struct code_names *names)
{
	if (!names)
		return;
	symbolizer_destroy(names->symbolizer);
	vec_deinit(&names->spans);
	vec_deinit(&names->found);
	vec_deinit(&names->made);
	arena_deinit(&names->made_names);
	free(names);
}

static const struct target_span *find_span(const struct code_names *names, uint64_t address)
{
	for (size_t i = names->spans.count; i-- > 0;) {
		const struct target_span *span = &names->spans.items[i];

		if (address >= span->start && address < span->end)
			return span;
	}
	return NULL;
}

struct err *code_names_look(struct code_names *names, const struct target *target)
{
	for (size_t i = 0; i < target->spans.count; i++) {
		const struct target_span *now = &target->spans.items[i];
		const struct target_span *known = find_span(names, now->start);

		if (known && known->start == now->start && known->end == now->end &&
		    known->bias == now->bias && known->module == now->module)
			continue;
		// What is in no file is made at run time, unless a file was there before. A JIT
		// compiler maps new code all the time.
		if (!known && now->module == TARGET_NO_MODULE)
			continue;
		if (!vec_push(&names->spans, *now))
			return err_no_memory();
	}
	return NULL;
}

/* The address that is looked up for a frame: of a return address, the call before it. */
static uint64_t address_of(uint64_t frame)
{
	return frame & FRAME_INTERRUPTED ? frame & ~FRAME_INTERRUPTED : frame - 1;
}

static bool is_made(const struct code_names *names, uint64_t address)
{
	const struct target_span *span = find_span(names, address);

	return !span || span->module == TARGET_NO_MODULE;
}

static int by_address(const void *left, const void *right)
{
	const struct perf_map_place *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

struct err *code_names_read_made(struct code_names *names, const struct target *target,
				 const uint64_t *frames, size_t count)
{
	const struct perf_map_time time = {.from_ns = target->facts.started_ns,
					   .until_ns = INT64_MAX,
					   .user = target->facts.user};
	char path[64];

	names->made.count = 0;
	arena_deinit(&names->made_names);
	names->made_names = (struct arena){0};
	for (size_t i = 0; i < count; i++)
		if (is_made(names, address_of(frames[i])) &&
		    !vec_push(&names->made,
			      (struct perf_map_place){.address = address_of(frames[i])}))
			return err_no_memory();
	if (!names->made.count)
		return NULL;
	qsort(names->made.items, names->made.count, sizeof(*names->made.items), by_address);
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)target->pid,
		 (int)target->facts.own_pid);
	return perf_map_name(path, &time, &names->made_names, names->made.items, names->made.count);
}

/* Code that was made at run time. */
static struct err *find_made(struct code_names *names, uint64_t address)
{
	const struct perf_map_place wanted = {.address = address};
	const struct perf_map_place *place =
		names->made.count ? bsearch(&wanted, names->made.items, names->made.count,
					    sizeof(wanted), by_address)
				  : NULL;
	struct code_name name = {0};

	if (place) {
		name.function = place->name;
		name.offset = place->offset;
	}
	return vec_push(&names->found, name) ? NULL : err_no_memory();
}

static struct err *find_in_module(struct code_names *names, const struct target_module *module,
				  uint64_t file_address)
{
	struct symbol_module *symbols;
	const struct symbol *list;
	size_t count;
	struct err *err = symbolizer_module(names->symbolizer,
					    module->open_path ? module->open_path : module->path,
					    NULL, 0, &symbols);

	if (!err)
		err = symbol_module_find(symbols, file_address, &list, &count);
	for (size_t i = 0; !err && i < count; i++) {
		struct code_name name = {.offset = list[i].offset,
					 .module = file_name(module->path),
					 .file = list[i].file,
					 .line = list[i].line,
					 .inlined = list[i].inlined};

		if (list[i].raw_function)
			err = symbolizer_readable(names->symbolizer, list[i].raw_function,
						  &name.function);
		if (!err && !vec_push(&names->found, name))
			err = err_no_memory();
	}
	return err;
}

struct err *code_names_find(struct code_names *names, const struct target *target, uint64_t frame,
			    const struct code_name **ret, size_t *count)
{
	uint64_t address = address_of(frame);
	uint64_t back = frame & FRAME_INTERRUPTED ? 0 : 1;
	const struct target_span *span = find_span(names, address);
	struct err *err;

	names->found.count = 0;
	if (span && span->module != TARGET_NO_MODULE)
		err = find_in_module(names, &target->modules.items[span->module],
				     address - span->bias);
	else
		err = find_made(names, address);
	if (err)
		return err;
	// Offsets are those of the return address, as debuggers print them.
	for (size_t i = 0; i < names->found.count; i++)
		if (names->found.items[i].function)
			names->found.items[i].offset += back;
	*ret = names->found.items;
	*count = names->found.count;
	return NULL;
}
