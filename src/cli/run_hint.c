#include "cli/run_hint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/preload.h"
#include "hosted/err.h"
#include "symbols/own_allocator.h"

#define OLD_ARENA (256u << 10) /* of Python up to 3.9 */
#define NEW_ARENA (1u << 20)

/* The module of the innermost frame of a stack; NULL: none. *frame receives the frame's index. */
static const struct recorded_module *innermost_module(const struct recording *recording,
						      uint32_t stack, uint32_t *frame)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct recorded_frame *frames = recording_frames(recording, &count);

	if (stack == RECORDING_NONE)
		return NULL;
	*frame = nodes[stack].frame;
	return frames[*frame].module == RECORDING_NONE ? NULL : &modules[frames[*frame].module];
}

static bool module_begins(const struct recording *recording, const struct recorded_module *module,
			  const char *name)
{
	// The program's own module has no path.
	const char *path = *module->path ? module->path : recording_facts(recording)->program;
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

/*
 * Python's allocator maps arenas of exactly one size, anonymous and private, by a call in Python's
 * own code. With PYTHONMALLOC=malloc it maps none.
 */
static bool is_python_arena(const struct recording *recording,
			    const struct mapping_operation *mapping)
{
	const struct recorded_module *module;
	uint32_t frame;

	if (mapping->kind != TRACE_RECORD_MMAP ||
	    (mapping->length != OLD_ARENA && mapping->length != NEW_ARENA) ||
	    mapping->flags != (MAP_PRIVATE | MAP_ANONYMOUS))
		return false;
	module = innermost_module(recording, mapping->stack, &frame);
	return module && (module_begins(recording, module, "python") ||
			  module_begins(recording, module, "libpython"));
}

static uint32_t count_python_arenas(const struct recording *recording)
{
	uint32_t count, arenas = 0;
	const struct mapping_operation *mappings = recording_mappings(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		arenas += is_python_arena(recording, &mappings[i]);
	return arenas;
}

/*
 * The functions by which __pool_alloc and __mt_alloc get memory for many blocks at once; what the
 * program allocates from them is not seen. They stand in libstdc++ itself.
 */
static bool is_cxx_pool(const char *function)
{
	static const char *const names[] = {"_ZN9__gnu_cxx17__pool_alloc_base",
					    "_ZN9__gnu_cxx6__poolILb"};

	for (size_t i = 0; function && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(function, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_in_cxx_pool(const struct loaded *loaded, uint32_t frame)
{
	const struct symbol *symbols;
	size_t count;
	struct err *err = symbolized_symbols(loaded->symbolized, frame, &symbols, &count);

	if (!err)
		return is_cxx_pool(symbols[count - 1].raw_function);
	err_destroy(err);
	return false;
}

/* Whether libstdc++ allocated for its pools: the frames up to the first one outside of it. */
static bool is_of_cxx_pool(const struct loaded *loaded, uint32_t stack)
{
	uint32_t count, frame;
	const struct stack_node *nodes = recording_stacks(loaded->recording, &count);
	const struct recorded_module *module;

	for (; (module = innermost_module(loaded->recording, stack, &frame)) &&
	       module_begins(loaded->recording, module, "libstdc++.so");
	     stack = nodes[stack].parent)
		if (is_in_cxx_pool(loaded, frame))
			return true;
	return false;
}

static bool uses_cxx_pool(const struct loaded *loaded)
{
	uint32_t count;
	const struct site *sites = recording_sites(loaded->recording, &count);

	// Without names (--no-finish) nothing is said.
	for (uint32_t i = 0; loaded->symbolized && i < count; i++)
		if (is_of_cxx_pool(loaded, sites[i].stack))
			return true;
	return false;
}

void run_hint_allocator(struct buf *buf, const char *program)
{
	struct own_allocator found;

	if (!own_allocator_find(program, &found))
		return;
	if (!found.name) {
		buf_text(buf, "the program defines malloc itself: what that serves is not seen");
		return;
	}
	buf_printf(buf, "the program has an allocator of its own, %s (", found.name);
	if (*found.symbol)
		buf_printf(buf, "%s()", found.symbol);
	else
		buf_text(buf, "by its messages, for it has no symbols");
	buf_text(buf, "): what that serves is not seen, and all numbers are without it. Built with "
		      "the system's malloc (in Rust: without #[global_allocator]) it is");
}

void run_hint_preloads(struct buf *buf)
{
	const char *list = getenv("LD_PRELOAD");
	size_t length;

	for (; list && *list; list += length + (list[length] != '\0')) {
		length = preload_entry_length(list);
		if (!preload_is_sanitizer(list, length))
			continue;
		buf_printf(buf,
			   "'%.*s' is preloaded, and its malloc comes before mallow's: what that "
			   "serves is not seen. Without it in LD_PRELOAD it is",
			   (int)length, list);
		return;
	}
}

/* One line of the summary, if there is anything to say. */
static void put_line(struct buf *buf, struct buf *text)
{
	if (text->size)
		buf_printf(buf, "  hint        %.*s\n", (int)text->size, text->data);
	buf_deinit(text);
}

void run_hint_put(struct buf *buf, const struct loaded *loaded)
{
	uint32_t arenas = count_python_arenas(loaded->recording);
	struct buf text;

	if (arenas)
		buf_printf(buf,
			   "  hint        Python keeps small blocks in %u %s of its own: "
			   "--force-malloc shows each\n",
			   arenas, arenas == 1 ? "arena" : "arenas");
	if (uses_cxx_pool(loaded))
		buf_text(buf, "  hint        libstdc++'s pool allocator hides blocks: "
			      "--force-malloc shows each\n");
	buf_init(&text);
	run_hint_allocator(&text, recording_facts(loaded->recording)->program);
	put_line(buf, &text);
	buf_init(&text);
	run_hint_preloads(&text);
	put_line(buf, &text);
}
