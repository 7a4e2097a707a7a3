#include "analysis/views/hidden_heaps.h"

#include <string.h>
#include <sys/mman.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/map.h"

#define OLD_ARENA (256u << 10) /* Python's up to 3.9 */
#define NEW_ARENA (1u << 20)
#define PHP_CHUNK (2u << 20)   /* a larger block has a mapping of its own */
#define RUBY_PAGE (32u << 10)  /* mapped for a page of 16 KiB; what is not aligned is cut off */
#define NEW_PAGE  (128u << 10) /* for one of 64 KiB: since 3.2 */

/* The mappings of all such heaps that are there at a moment of the recording. */
struct mapped {
	struct map lengths; /* by address */
	struct map heaps;   /* the same: enum hidden_heap */
	uint64_t bytes[HIDDEN_HEAP_COUNT];
	uint64_t last; /* address of the last one; MAP_NONE: none */
};

const char *hidden_heap_owner(enum hidden_heap heap)
{
	static const char *const owners[] = {"Python", "PHP", "Ruby"};

	return owners[heap];
}

const char *hidden_heap_option(const char *owner)
{
	return strcmp(owner, "Ruby") == 0 ? "--mappings" : "--force-malloc";
}

static void mapped_deinit(struct mapped *mapped)
{
	map_deinit(&mapped->lengths);
	map_deinit(&mapped->heaps);
}

/* The module of a stack's innermost frame; NULL: none. *frame: the frame's index. */
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
	// The program's own module may have no path.
	const char *path = *module->path ? module->path : recording_facts(recording)->program;

	return strncmp(file_name(path), name, strlen(name)) == 0;
}

enum hidden_heap hidden_heap_of(const struct recording *recording,
				const struct mapping_operation *mapping)
{
	const struct recorded_module *module;
	uint32_t frame;

	if (mapping->kind != TRACE_RECORD_MMAP || mapping->flags != (MAP_PRIVATE | MAP_ANONYMOUS))
		return HIDDEN_HEAP_COUNT;
	module = innermost_module(recording, mapping->stack, &frame);
	if (!module)
		return HIDDEN_HEAP_COUNT;
	if (!recording_facts(recording)->python_pools &&
	    (mapping->length == OLD_ARENA || mapping->length == NEW_ARENA) &&
	    (module_begins(recording, module, "python") ||
	     module_begins(recording, module, "libpython")))
		return HIDDEN_HEAP_PYTHON;
	if (mapping->length >= PHP_CHUNK && mapping->length <= INT64_MAX &&
	    (module_begins(recording, module, "php") || module_begins(recording, module, "libphp")))
		return HIDDEN_HEAP_PHP;
	if ((mapping->length == RUBY_PAGE || mapping->length == NEW_PAGE) &&
	    (module_begins(recording, module, "ruby") ||
	     module_begins(recording, module, "libruby")))
		return HIDDEN_HEAP_RUBY;
	return HIDDEN_HEAP_COUNT;
}

/* false: no memory. A mapping at the same address, whose end was not recorded, is replaced. */
static bool put(struct mapped *mapped, enum hidden_heap heap, uint64_t address, uint64_t length)
{
	uint64_t *as_length = map_put(&mapped->lengths, address);
	uint64_t *as_heap;

	if (!as_length)
		return false;
	if (*as_length != MAP_NONE)
		mapped->bytes[map_get(&mapped->heaps, address)] -= *as_length;
	*as_length = length;
	as_heap = map_put(&mapped->heaps, address);
	if (!as_heap)
		return false;
	*as_heap = heap;
	mapped->bytes[heap] += length;
	mapped->last = address;
	return true;
}

/*
 * Removes the unmapped part of a mapping: all of it, or its beginning or end. PHP maps too much and
 * then cuts both, so that a chunk's address is a multiple of its size.
 */
static bool take(struct mapped *mapped, uint64_t address, uint64_t length)
{
	uint64_t known = map_get(&mapped->lengths, address), begin = address;
	enum hidden_heap heap;

	if (known == MAP_NONE) {
		begin = mapped->last;
		known = map_get(&mapped->lengths, begin);
		if (known == MAP_NONE || address < begin || address - begin >= known ||
		    length < known - (address - begin))
			return true;
	}
	heap = (enum hidden_heap)map_remove(&mapped->heaps, begin);
	map_remove(&mapped->lengths, begin);
	mapped->bytes[heap] -= known;
	if (begin < address)
		return put(mapped, heap, begin, address - begin);
	return length >= known || put(mapped, heap, address + length, known - length);
}

struct err *hidden_heaps_find(const struct recording *recording, struct hidden_heaps *ret)
{
	cleanup(mapped_deinit) struct mapped mapped = {.last = MAP_NONE};
	struct hidden_heaps found = {0};
	uint32_t count;
	const struct mapping_operation *mappings = recording_mappings(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct mapping_operation *mapping = &mappings[i];
		enum hidden_heap heap = hidden_heap_of(recording, mapping);

		if (mapping->kind == TRACE_RECORD_MUNMAP &&
		    !take(&mapped, mapping->address, mapping->length))
			return err_no_memory();
		if (heap == HIDDEN_HEAP_COUNT)
			continue;
		if (!put(&mapped, heap, mapping->address, mapping->length))
			return err_no_memory();
		found.of[heap].count++;
		if (found.of[heap].peak_bytes < mapped.bytes[heap])
			found.of[heap].peak_bytes = mapped.bytes[heap];
	}
	*ret = found;
	return NULL;
}

/* How stacks tell that a library allocated for a pool of its own. */
static const struct {
	const char *owner;
	const char *library; /* what its file is called */
	/* Functions of the library that hand out blocks, what their names begin with. */
	const char *functions[2];
	/* What names of functions begin with that allocate for something else; NULL: none. */
	const char *others;
	bool is_forced; /* as of hidden_pool_is_forced() */
} pools[HIDDEN_POOL_COUNT] = {
	/* __pool_alloc and __mt_alloc. */
	[HIDDEN_POOL_LIBSTDCXX] = {.owner = "libstdc++'s pool allocator",
				   .library = "libstdc++.so",
				   .functions = {"_ZN9__gnu_cxx17__pool_alloc_base",
						 "_ZN9__gnu_cxx6__poolILb"},
				   .is_forced = true},
	/*
	 * Memory for many slices comes from functions that are not exported. A single one comes
	 * from g_malloc(): of any size by G_SLICE=always-malloc, and from GLib 2.76 on.
	 */
	[HIDDEN_POOL_GLIB] = {.owner = "GLib's slice allocator",
			      .library = "libglib-2.0.so.",
			      .functions = {"g_slice_alloc"},
			      .others = "g_",
			      .is_forced = true},
	/* Blocks up to 16 KB of a Tcl with threads. A larger one is TclpAlloc()'s own call. */
	[HIDDEN_POOL_TCL] = {.owner = "Tcl's allocator",
			     .library = "libtcl",
			     .functions = {"TclpAlloc"},
			     .others = "Tcl"},
};

const char *hidden_pool_owner(enum hidden_pool pool)
{
	return pools[pool].owner;
}

bool hidden_pool_is_forced(enum hidden_pool pool)
{
	return pools[pool].is_forced;
}

static bool begins(const char *name, const char *with)
{
	return name && with && strncmp(name, with, strlen(with)) == 0;
}

/*
 * *ret: whether the pool's library allocated for it. Looks at frames up to the first one outside of
 * the library.
 */
static struct err *is_of_pool(const struct recording *recording, struct symbolized *symbolized,
			      uint32_t stack, enum hidden_pool pool, bool *ret)
{
	uint32_t count, frame;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct recorded_module *module;
	bool innermost = true;

	for (; !*ret && (module = innermost_module(recording, stack, &frame)) &&
	       module_begins(recording, module, pools[pool].library);
	     stack = nodes[stack].parent) {
		const struct symbol *symbols;
		size_t symbol_count;
		struct err *err = symbolized_symbols(symbolized, frame, &symbols, &symbol_count);
		const char *name;

		if (err)
			return err;
		name = symbols[symbol_count - 1].raw_function;
		*ret = begins(name, pools[pool].functions[0]) ||
		       begins(name, pools[pool].functions[1]);
		if (begins(name, pools[pool].others)) {
			*ret &= !innermost;
			return NULL;
		}
		innermost = false;
	}
	return NULL;
}

struct err *hidden_pools_find(const struct recording *recording, struct symbolized *symbolized,
			      bool ret[HIDDEN_POOL_COUNT])
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	for (int pool = 0; pool < HIDDEN_POOL_COUNT; pool++) {
		bool found = false;

		for (uint32_t i = 0; !found && i < count; i++) {
			struct err *err = is_of_pool(recording, symbolized, sites[i].stack,
						     (enum hidden_pool)pool, &found);

			if (err)
				return err;
		}
		ret[pool] = found;
	}
	return NULL;
}
