#define UNW_LOCAL_ONLY
#include "compare.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Looked up by name in libgcc_s: libunwind exports functions of the same names, and the linker
 * would take those.
 */
struct _Unwind_Context;
static int (*libgcc_backtrace)(int (*visit)(struct _Unwind_Context *, void *), void *data);
static unsigned long (*libgcc_get_ip)(struct _Unwind_Context *, int *before);

#include "agent/unwind/stack_cache.h"
#include "agent/unwind/unwind.h"
#include "cached_frame.h"
#include "trace/format.h"

#define ROOM 30000

struct trace {
	size_t count;
	int end;
	uint64_t pcs[ROOM];
};

/* Too big for the small stacks of fibers; one set for each nesting of handlers. */
static __thread struct trace traces[4][3];
static __thread unsigned nesting;
static __thread struct unwind_stack stack;
static atomic_ulong compared, failures, kept;

/* The thread's stack as the agent keeps it. A handler that interrupts a capture goes without. */
static __thread struct stack_cache cache;
static __thread bool capturing;
static __thread unsigned cache_epoch;
static atomic_uint epoch;

static void *allocate(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void forgot(void)
{
	atomic_fetch_add(&epoch, 1);
}

/* The section of nesting.c's functions that stand for hooks. */
extern const char __start_scene_hooks[], __stop_scene_hooks[];

void compare_init(void)
{
	struct unwind_host host = {
		.allocate = allocate,
		.hooks_start = (uint64_t)__start_scene_hooks,
		.hooks_end = (uint64_t)__stop_scene_hooks,
		.forgot = forgot,
	};

#ifndef COMPARE_WITHOUT_LOADER
	host.dl_find_object = (int (*)(void *, void *))dlsym(RTLD_DEFAULT, "_dl_find_object");
#endif
	void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW);

	*(void **)&libgcc_backtrace = dlsym(libgcc, "_Unwind_Backtrace");
	*(void **)&libgcc_get_ip = dlsym(libgcc, "_Unwind_GetIPInfo");
	unwind_init(&host);
}

unsigned long compare_count(void)
{
	return atomic_load(&compared);
}

unsigned long compare_failures(void)
{
	return atomic_load(&failures);
}

unsigned long compare_kept(void)
{
	return atomic_load(&kept);
}

void compare_forget(uint64_t start, uint64_t end)
{
	unwind_forget(start, end);
	atomic_fetch_add(&epoch, 1);
}

static int visit(struct _Unwind_Context *context, void *data)
{
	struct trace *trace = data;
	int before = 0;
	uint64_t pc = libgcc_get_ip(context, &before);

	if (trace->count < ROOM && pc != 0)
		trace->pcs[trace->count++] = pc + (before ? 1 : 0);
	return 0;
}

static void walk_libgcc(struct trace *trace)
{
	trace->count = 0;
	libgcc_backtrace(visit, trace);
}

static void walk_libunwind(struct trace *trace)
{
	unw_context_t context;
	unw_cursor_t cursor;

	trace->count = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_word_t pc = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc == 0)
			break;
		// True of the interrupted frame, not of the one that its handler returns to.
		pc += unw_is_signal_frame(&cursor) > 0;
		trace->pcs[trace->count++] = pc;
	} while (trace->count < ROOM && unw_step(&cursor) > 0);
}

/* Drops the frames inside of the one that ours begins with. */
static void align(struct trace *trace, uint64_t first)
{
	size_t i = 0;

	while (i < trace->count && trace->pcs[i] != first)
		i++;
	memmove(trace->pcs, trace->pcs + i, (trace->count - i) * sizeof(trace->pcs[0]));
	trace->count -= i;
}

static void print_frame(const struct trace *trace, size_t i)
{
	Dl_info info = {0};

	if (i >= trace->count) {
		fprintf(stderr, " %-40s", "-");
		return;
	}
	dladdr((void *)(trace->pcs[i] - 1), &info);
	fprintf(stderr, " %12lx %-27.27s", (unsigned long)trace->pcs[i],
		info.dli_sname ? info.dli_sname : "?");
}

static void report(const char *what, const char *other, const struct trace *a,
		   const struct trace *b)
{
	size_t first = 0;

	if (atomic_fetch_add(&failures, 1) >= 10)
		return;
	while (first < a->count && first < b->count && a->pcs[first] == b->pcs[first])
		first++;
	fprintf(stderr, "%s: differs from %s at frame %zu of %zu / %zu, end %d\n", what, other,
		first, a->count, b->count, a->end);
	for (size_t i = first > 3 ? first - 3 : 0; i < first + 5; i++) {
		print_frame(a, i);
		print_frame(b, i);
		fprintf(stderr, "\n");
	}
}

static void report_cached(const uint64_t *pcs, size_t count, enum unwind_end end,
			  enum unwind_end cached)
{
	if (atomic_fetch_add(&failures, 1) >= 10)
		return;
	fprintf(stderr, "the cache differs: %zu frames end %d, cached %u frames end %d\n", count,
		(int)end, cache.depth, (int)cached);
	for (size_t i = 0; i < 40 && (i < count || i < cache.depth); i++)
		fprintf(stderr, " %12lx %12lx\n", i < count ? (unsigned long)pcs[i] : 0,
			i < cache.depth ? (unsigned long)cached_frame(&cache, cache.depth - i)->pc
					: 0);
}

static bool cache_holds(const uint64_t *pcs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (i >= cache.depth || cached_frame(&cache, cache.depth - i)->pc != pcs[i])
			return false;
	return true;
}

/* The same capture by the cache: the plain walk has found these. As in event_write.c. */
static void compare_cached(const struct unwind_state *state, const uint64_t *pcs, size_t room,
			   size_t count, enum unwind_end end)
{
	enum unwind_end cached;
	size_t depth = count + (end == UNWIND_BROKEN); // and the pc that says so

	if (capturing)
		return;
	capturing = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (cache_epoch != atomic_load(&epoch)) {
		stack_cache_clear(&cache);
		cache_epoch = atomic_load(&epoch);
	}
	cache.shared = cache.depth;
	cache.depth_max = room;
	cache.broken_pc = TRACE_PC_BROKEN;
	cached = stack_cache_capture(&cache, state, &stack);
	if (cached == UNWIND_REFUSED)
		stack_cache_set(&cache, pcs, count);
	else if (cached != end || cache.depth != depth || !cache_holds(pcs, count))
		report_cached(pcs, count, end, cached);
	atomic_fetch_add(&kept, cache.shared > 0 && cached != UNWIND_REFUSED);
	atomic_signal_fence(memory_order_seq_cst);
	capturing = false;
}

static void compare_with(const char *what, const char *name, unsigned with, struct trace *ours,
			 struct trace *other)
{
	bool count_equal;

	align(other, ours->pcs[0]);
	count_equal = with & COMPARE_PREFIX ? ours->count >= other->count && other->count > 0
					    : ours->count == other->count;
	if (!count_equal || memcmp(ours->pcs, other->pcs, other->count * sizeof(uint64_t)) != 0)
		report(what, name, ours, other);
}

/* The state as it will be when the function that calls this returns. */
#define CALLER_STATE()                                                                             \
	{                                                                                          \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0) + 16,                                   \
		.fp = *(uint64_t *)__builtin_frame_address(0),                                     \
	}

__attribute__((noinline)) size_t compare_capture(uint64_t *pcs, size_t room, int *end)
{
	struct unwind_state state = CALLER_STATE();
	size_t count = 0;

	*end = (int)unwind_capture(&state, &stack, pcs, room, &count);
	compare_cached(&state, pcs, room, count, (enum unwind_end) * end);
	return count;
}

__attribute__((noinline)) void compare_stack(const char *what, unsigned with)
{
	struct unwind_state state = CALLER_STATE();
	struct trace *set = traces[nesting++];

	set[0].end = (int)unwind_capture(&state, &stack, set[0].pcs, ROOM, &set[0].count);
	compare_cached(&state, set[0].pcs, ROOM, set[0].count, (enum unwind_end)set[0].end);
	if (with & COMPARE_LIBGCC) {
		walk_libgcc(&set[1]);
		compare_with(what, "libgcc", with, &set[0], &set[1]);
	}
	if (with & COMPARE_LIBUNWIND) {
		walk_libunwind(&set[2]);
		compare_with(what, "libunwind", with, &set[0], &set[2]);
	}
	compare_expect(set[0].end == UNWIND_COMPLETE, what);
	atomic_fetch_add(&compared, 1);
	nesting--;
}

void compare_expect(bool truth, const char *what)
{
	if (!truth && atomic_fetch_add(&failures, 1) < 10)
		fprintf(stderr, "%s: not as expected\n", what);
}
