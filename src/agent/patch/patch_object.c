#include "agent/patch/patch_object.h"

#include <link.h>

#include "agent/arch/patched_entry.h"
#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/patch/patch.h"
#include "agent/patch/patch_code.h"
#include "agent/patch/patch_file.h"
#include "agent/record/build_id.h"
#include "agent/unwind/unwind.h"
#include "trace/format.h"

#define FUNCTIONS_MAX 1024 /* of one object, found by their names */

/* Larger ones are not looked through for jumps to their entry. */
#define FUNCTION_SIZE_MAX (UINT64_C(1) << 20)

static struct function_names function_names;
static struct file_function *functions; // an array of FUNCTIONS_MAX, of the object at hand

/* An object whose functions are being patched. */
struct work {
	const struct link_map *map;
	struct patch_file file;
	struct patch_functions functions;
	struct patch_report *(*take)(void);
	struct patch_report *report;
	const char *path;
	uint64_t start, end; /* of the file's code */
	bool mixed;          /* its free() and delete are one function */
};

static bool is_program(const struct link_map *map)
{
	return !map->l_prev;
}

/* Whether one of our hooks stands in front of the function: calls by its name come to us. */
static bool is_behind_hook(uint64_t address)
{
#define HOOK(name, symbol, type, parameters)                                                       \
	if ((uint64_t)real.name == address)                                                        \
		return true;
#include "agent/ground/hooks.def"
#undef HOOK
	return false;
}

/* Whether the function is to be patched: its calls do not come to us anyway. */
static bool is_wanted(const struct work *work, const struct file_function *function)
{
	return !is_behind_hook(work->map->l_addr + function->address);
}

/*
 * Leaves the functions that are surely an allocator's, and that blocks come from: not Rust's, which
 * compilers inline.
 */
static void keep_sure(struct patch_functions *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].match.function->act <= ALLOCATOR_FREE &&
		    all->list[i].match.group != ALLOCATOR_RUST &&
		    function_choice_is_sure(&all->signs, all->list, all->count,
					    all->list[i].match.group))
			all->list[kept++] = all->list[i];
	// Operators come with an allocator, or are nobody's.
	for (size_t i = 0; i < kept; i++)
		if (all->list[i].match.group != ALLOCATOR_CXX) {
			all->count = kept;
			return;
		}
	all->count = 0;
}

/*
 * Whether a function is both: hooked by its name, and called by another name, past us. Then which
 * calls are seen already cannot be told.
 */
static bool is_half_hooked(const struct work *work)
{
	const uint32_t names = ALLOCATOR_PLAIN | ALLOCATOR_CXX | ALLOCATOR_LIBC;

	for (size_t i = 0; i < work->functions.count; i++)
		if (work->functions.list[i].groups & ~names &&
		    !is_wanted(work, &work->functions.list[i]))
			return true;
	return false;
}

static bool begin_report(struct work *work, const char *allocator)
{
	struct patch_report *report = work->report = work->take();

	if (!report)
		return false;
	report->told = false;
	report->refused = report->cell_count = 0;
	text_init(&report->text, report->bytes, sizeof(report->bytes));
	text_bytes(&report->text, work->path, strlen(work->path) + 1);
	text_bytes(&report->text, allocator, strlen(allocator) + 1);
	return true;
}

/* "malloc: it is shorter than a jump; free: …" */
static void refuse(struct patch_report *report, const char *name, const char *why)
{
	if (report->refused++)
		text_string(&report->text, "; ");
	text_string(&report->text, name);
	text_string(&report->text, ": ");
	text_string(&report->text, why);
}

static patched_hook *hook_for(const struct allocator_function *function)
{
	switch (function->act) {
	case ALLOCATOR_ALLOC:
		return patch_hooks->allocates;
	case ALLOCATOR_REALLOC:
		return patch_hooks->resizes;
	default:
		return patch_hooks->frees;
	}
}

/* Whether the agent may use registers of vectors on its way to the sink. */
static bool needs_vectors(void)
{
	return config.value[SETTING_SAMPLE] || config.value[SETTING_CULL];
}

/* Whether a debugger, a probe or somebody else's patch has changed what the jump will cover. */
static bool is_changed(uint64_t entry, const struct entry_plan *plan, const uint8_t *code)
{
	size_t size = (size_t)plan->jump + ENTRY_JUMP_SIZE;

	return memcmp((const void *)entry, code, size > plan->end ? size : plan->end);
}

/* Fills the cell and leads the function's entry to it. Returns why not. */
static const char *write_patch(struct patched *cell, const struct patched *filled)
{
	uint8_t jump[ENTRY_JUMP_SIZE];

	if (!entry_jump(jump, filled->entry + filled->jump, (uint64_t)cell->stub))
		return "there is no memory near it";
	if (!patch_code_write(cell, filled, sizeof(*filled)) ||
	    !patch_code_write((void *)(filled->entry + filled->jump), jump, sizeof(jump)))
		return "the kernel does not let it be changed";
	return NULL;
}

/*
 * What the recording says that the function was. Where free() and delete are one function, nobody
 * can tell which of them was called: no block is one of new's there, or each would be freed
 * wrongly.
 */
static uint8_t operation_of(const struct work *work, const struct allocator_function *function)
{
	if (!work->mixed)
		return function->operation;
	switch (function->act) {
	case ALLOCATOR_FREE:
		return TRACE_OP_FREE;
	case ALLOCATOR_ALLOC:
		return function->operation < TRACE_OP_NEW ? function->operation
		       : function->alignment              ? TRACE_OP_MEMALIGN
							  : TRACE_OP_MALLOC;
	default:
		return function->operation;
	}
}

static const char *patch_at(struct work *work, const struct file_function *function,
			    const struct entry_plan *plan, const uint8_t *code)
{
	struct patched filled = {
		.function = function->match.function,
		.hook = hook_for(function->match.function),
		.enter = needs_vectors() ? patched_entry_vectors : patched_entry,
		.jump = plan->jump,
		.pushes = ENTRY_STUB_PUSHES(plan),
		.operation = operation_of(work, function->match.function),
		.entry = work->map->l_addr + function->address,
		.start = work->map->l_addr + work->start,
		.end = work->map->l_addr + work->end,
	};
	struct patch_report *report = work->report;
	struct patched *cell;
	const char *why = NULL;

	if (report->cell_count == PATCH_CELLS_MAX)
		return "there are too many";
	cell = patch_code_cell(filled.entry);
	if (!cell)
		return "there is no memory near it";
	if (!entry_move(plan, code, filled.entry, filled.moved, (uint64_t)cell->moved,
			filled.steps) ||
	    !entry_stub(plan, filled.stub, (uint64_t)cell->stub, (uint64_t)cell,
			(uint64_t)&cell->enter))
		why = "there is no memory near it";
	if (!why)
		why = write_patch(cell, &filled);
	if (why)
		patch_code_give_back(cell);
	else
		report->cells[report->cell_count++] = cell;
	return why;
}

/* The function of the list at that address; NULL: there is none. */
static const struct file_function *listed(const struct work *work, uint64_t address)
{
	for (size_t i = 0; i < work->functions.count; i++)
		if (work->functions.list[i].address == address)
			return &work->functions.list[i];
	return NULL;
}

/* The arguments that the hooks look at: a bit each. */
static unsigned int needed_of(const struct allocator_function *function)
{
	unsigned int bits = 1u << function->size | 1u << function->times | 1u << function->pointer |
			    1u << function->alignment | (unsigned int)function->stores << 1;

	return bits >> 1; // 0: there is none
}

/* *ret: the function's code in the file. */
static struct entry_plan plan_function(const struct work *work,
				       const struct file_function *function, const uint8_t **ret)
{
	size_t readable;

	*ret = patch_file_code(&work->file, function->address, &readable);
	if (!*ret)
		return (struct entry_plan){.refusal = "it has no code"};
	return entry_plan_make(*ret, function->size, readable, function->address,
			       function->match.function->arguments,
			       needed_of(function->match.function));
}

/* Whether one function serves as free() and as delete, by its names or by a jump to it. */
static bool is_mixed(const struct work *work, const struct file_function *function)
{
	const uint8_t *code;
	struct entry_plan plan = plan_function(work, function, &code);
	const struct file_function *other = plan.leads_to ? listed(work, plan.leads_to) : NULL;

	return function->mixed ||
	       (other && other->match.function->operation != function->match.function->operation);
}

/*
 * Whether the function need not be patched: it only jumps to one that is patched, or hooked by its
 * name.
 */
static bool is_stub(const struct work *work, const struct entry_plan *plan)
{
	return plan->leads_to &&
	       (listed(work, plan->leads_to) || is_behind_hook(work->map->l_addr + plan->leads_to));
}

/* The size of the function at an address, by the unwind tables; 0: they do not say. */
static uint64_t size_by_tables(uint64_t address)
{
	uint64_t within = 0, beyond = 1;

	while (beyond < FUNCTION_SIZE_MAX && unwind_code_start(address + beyond + 1) == address) {
		within = beyond;
		beyond *= 2;
	}
	while (within + 1 < beyond) {
		uint64_t middle = within + (beyond - within) / 2;

		if (unwind_code_start(address + middle + 1) == address)
			within = middle;
		else
			beyond = middle;
	}
	return within ? within + 1 : 0;
}

/* Takes the place of stubs by what they jump to, where that is a function that is not in the list.
 */
static void pass_stubs(struct work *work)
{
	for (size_t i = 0; i < work->functions.count; i++) {
		struct file_function *function = &work->functions.list[i];
		const uint8_t *code;
		struct entry_plan plan = plan_function(work, function, &code);
		uint64_t size;

		if (!is_wanted(work, function) || !plan.leads_to || is_stub(work, &plan))
			continue;
		size = patch_file_size_of(&work->file, plan.leads_to);
		if (!size)
			size = size_by_tables(work->map->l_addr + plan.leads_to);
		if (size) {
			function->address = plan.leads_to;
			function->size = size;
		}
	}
}

static const uint8_t *code_of(const void *file, uint64_t address, size_t *readable)
{
	return patch_file_code(file, address, readable);
}

/* Whether what the jump would cover is also another function's, or jumped to from elsewhere. */
static bool is_shared(const struct work *work, const struct file_function *function,
		      const struct entry_plan *plan)
{
	uint64_t last = plan->jump + ENTRY_JUMP_SIZE;

	if (last < plan->end)
		last = plan->end;
	return patch_file_has_symbol(&work->file, function->address + 1,
				     function->address + last) ||
	       entry_is_jumped_into(plan, function->address, function->size, code_of, &work->file);
}

/*
 * Looks at all functions before one is patched. false: one of them cannot be. Then none is, for a
 * picture without the frees, or with frees of blocks that it does not have, would be wrong.
 */
static bool can_patch(struct work *work)
{
	bool can = true;

	for (size_t i = 0; i < work->functions.count; i++) {
		const struct file_function *function = &work->functions.list[i];
		const uint8_t *code;
		struct entry_plan plan;
		const char *why;

		if (!is_wanted(work, function))
			continue;
		plan = plan_function(work, function, &code);
		why = is_stub(work, &plan) ? NULL : plan.refusal;
		if (plan.calls && patched_entry_is_shadowed())
			why = "it calls another function at its entry";
		if (!plan.refusal && is_shared(work, function, &plan))
			why = "other code jumps into its entry";
		if (!plan.refusal && is_changed(work->map->l_addr + function->address, &plan, code))
			why = "a debugger, a probe or a patch has changed it";
		if (why)
			refuse(work->report, function->name, why);
		can &= !why;
		work->mixed |= is_mixed(work, function);
	}
	return can;
}

/* Patches them. false: one could not be, nor can the others. */
static bool patch_functions(struct work *work)
{
	for (size_t i = 0; i < work->functions.count; i++) {
		const struct file_function *function = &work->functions.list[i];
		const uint8_t *code;
		struct entry_plan plan;
		const char *why;

		if (!is_wanted(work, function))
			continue;
		plan = plan_function(work, function, &code);
		why = plan.refusal ? NULL : patch_at(work, function, &plan, code);
		if (why) {
			refuse(work->report, function->name, why);
			return false;
		}
	}
	return true;
}

/* Whether functions with a prefix that nobody knows are an allocator's: one frees. */
static bool has_unknown_free(const struct work *work)
{
	for (size_t i = 0; i < work->functions.count; i++)
		if (work->functions.list[i].match.group == ALLOCATOR_USER &&
		    work->functions.list[i].match.function->act == ALLOCATOR_FREE)
			return true;
	return false;
}

/* Adds the functions of a file; of a jemalloc with a prefix that nobody knows, too. */
static void add_functions(struct work *work, const struct patch_file *file)
{
	function_names.prefix = NULL;
	patch_file_functions(file, &function_names, &work->functions);
	if (!*work->functions.prefix)
		return;
	function_names.prefix = work->functions.prefix;
	work->functions.count = 0;
	patch_file_functions(file, &function_names, &work->functions);
	if (has_unknown_free(work))
		return;
	function_names.prefix = NULL;
	work->functions.count = 0;
	patch_file_functions(file, &function_names, &work->functions);
}

/* Adds the symbols of the file with debug information that has this build id. */
static void add_debug_symbols(struct work *work, struct patch_file *debug)
{
	char name[64 + 2 * BUILD_ID_MAX];
	struct text path;
	const uint8_t *id;
	size_t size = patch_file_build_id(&work->file, &id);

	if (size < 2)
		return;
	text_init(&path, name, sizeof(name));
	text_string(&path, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < size; i++) {
		text_hex(&path, id[i], 2);
		if (!i)
			text_char(&path, '/');
	}
	text_string(&path, ".debug");
	if (!path.cut && patch_file_open(name, debug))
		add_functions(work, debug);
}

/* Why the whole object is left alone; NULL: it is not. */
static const char *refusal_of(const struct work *work)
{
	if (work->functions.overflow)
		return "it has too many functions of allocators";
	for (size_t i = 0; work->functions.odd && i < work->functions.count; i++)
		if (work->functions.list[i].groups & work->functions.odd_group)
			return "it has a variant that is not called by that name";
	// Rust's programs free by sdallocx(), which such a file does not export.
	if (!work->functions.has_symbols && !work->functions.signs.allocator &&
	    patch_file_is_jemalloc(&work->file))
		return "jemalloc's own functions have no symbols";
	return NULL;
}

/* Takes back what was patched of the object. */
static void unpatch(struct work *work)
{
	struct patch_report *report = work->report;

	while (report->cell_count) {
		struct patched *cell = report->cells[--report->cell_count];
		size_t readable;
		const uint8_t *code =
			patch_file_code(&work->file, cell->entry - work->map->l_addr, &readable);

		patch_code_write((void *)(cell->entry + cell->jump), code + cell->jump,
				 ENTRY_JUMP_SIZE);
		patch_code_give_back(cell);
	}
}

static void patch_list(struct work *work)
{
	const char *allocator = function_choice_allocator(
		&work->functions.signs, work->functions.list, work->functions.count);
	const char *why = refusal_of(work);

	if (!begin_report(work, allocator))
		return;
	if (why)
		refuse(work->report, work->functions.odd ? work->functions.odd : "all", why);
	if (!why)
		pass_stubs(work);
	if (!why && can_patch(work) && !patch_functions(work))
		unpatch(work);
	work->report->map = work->map;
	if (work->report->cell_count)
		real.blocks_are_apart = false;
}

/* A sanitizer's allocator is a part of its checks, and another C library's is its own. */
static bool is_candidate(const struct work *work)
{
	static const char sanitizer[] = "Sanitizer";
	const struct file_signs *signs = &work->functions.signs;
	size_t length = signs->allocator ? strlen(signs->allocator) : 0;

	if (signs->is_c_library || signs->is_loader)
		return false;
	return length < sizeof(sanitizer) ||
	       strcmp(signs->allocator + length - (sizeof(sanitizer) - 1), sanitizer) != 0;
}

static bool has_wanted(const struct work *work)
{
	for (size_t i = 0; i < work->functions.count; i++)
		if (is_wanted(work, &work->functions.list[i]))
			return true;
	return false;
}

void patch_object(const struct link_map *map, struct patch_report *(*take)(void))
{
	struct work work = {
		.map = map,
		.take = take,
		.path = is_program(map) ? program_path : map->l_name,
		.functions = {.list = functions, .room = FUNCTIONS_MAX},
	};
	struct patch_file debug = {0};

	if (!*work.path ||
	    !(patch_file_open(is_program(map) ? "/proc/self/exe" : work.path, &work.file) ||
	      patch_file_open(work.path, &work.file)))
		return;
	add_functions(&work, &work.file);
	if (is_candidate(&work)) {
		if (!work.functions.has_symbols)
			add_debug_symbols(&work, &debug);
		work.functions.count = function_choice_make(
			&work.functions.signs, work.functions.list, work.functions.count);
		keep_sure(&work.functions);
		if (has_wanted(&work) && !is_half_hooked(&work) &&
		    patch_file_range(&work.file, &work.start, &work.end) &&
		    patch_file_is_at(&work.file, map->l_addr))
			patch_list(&work);
	}
	if (debug.bytes)
		patch_file_close(&debug);
	patch_file_close(&work.file);
}

bool patch_object_begin(void)
{
	function_names_init(&function_names, NULL);
	functions = own_pages_allocate(FUNCTIONS_MAX * sizeof(*functions));
	return functions;
}
