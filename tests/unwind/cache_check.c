#include "cache_check.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/unwind/leaf_cache.h"
#include "cached_frame.h"
#include "trace/format.h"

/* So many differences are shown. */
#define SHOWN 3

static void *allocate(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static atomic_uint epoch;

static void forgot(void)
{
	atomic_fetch_add(&epoch, 1);
}

void cache_check_map(void *start, size_t size, int protection)
{
	unwind_memory_changes((uint64_t)start, size);
	if (mmap(start, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
		abort();
	unwind_memory_changed((uint64_t)start, size);
}

void cache_check_protect(void *start, size_t size, int protection)
{
	unwind_memory_changes((uint64_t)start, size);
	if (mprotect(start, size, protection))
		abort();
	unwind_memory_changed((uint64_t)start, size);
}

void cache_check_init(void)
{
	struct unwind_host host = {.allocate = allocate, .forgot = forgot};

	host.dl_find_object = (int (*)(void *, void *))dlsym(RTLD_DEFAULT, "_dl_find_object");
	unwind_init(&host);
}

uint64_t cache_check_random(struct cache_check *check)
{
	check->random ^= check->random << 13;
	check->random ^= check->random >> 7;
	check->random ^= check->random << 17;
	return check->random * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static void differ(struct cache_check *check, const char *how, size_t count)
{
	const struct stack_cache *cache = &check->cache;

	if (check->differences++ >= SHOWN)
		return;
	fprintf(stderr, "%s, capture %lu: %s (shared %u, stream %u)\n",
		check->what ? check->what : "?", check->captures, how, cache->shared,
		check->stream_depth);
	for (size_t i = 0; i < 80 && (i < count || i < cache->depth); i++)
		fprintf(stderr, "  %3zu %12lx %12lx\n", i,
			i < count ? (unsigned long)check->plain[i] : 0,
			i < cache->depth ? (unsigned long)cached_frame(cache, cache->depth - i)->pc
					 : 0);
}

static bool equals(const struct cache_check *check, size_t count)
{
	const struct stack_cache *cache = &check->cache;

	if (cache->depth != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (cached_frame(cache, cache->depth - i)->pc != check->plain[i])
			return false;
	return true;
}

/* In place of its text a segment has a byte of each frame's pc. */
static uint8_t text_of(uint64_t pc)
{
	return (uint8_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* The text must be that of the frames to be pushed. */
static void check_text(struct cache_check *check, const struct leaf_segment *segment)
{
	const struct stack_cache *cache = &check->cache;
	bool same = segment->text_size == cache->depth - cache->shared;

	for (uint32_t i = 0; same && i < segment->text_size; i++)
		same = segment->text[i] == text_of(cached_frame(cache, cache->shared + 1 + i)->pc);
	if (!same)
		differ(check, "text of other frames", 0);
	check->texts++;
}

/* A segment that was met again receives its text, once its frames have ids. */
static void make_text(struct leaf_segment *top)
{
	for (uint32_t i = 0; i < top->count; i++) {
		top->frames[i].id = (uint32_t)top->frames[i].pc;
		top->text[i] = text_of(top->frames[i].pc);
	}
	top->text_size = top->count;
}

/* The stream's stack becomes the outermost depth frames of the cache's, as event_write.c writes it.
 */
static void write_change(struct cache_check *check, uint32_t depth)
{
	struct stack_cache *cache = &check->cache;
	const struct leaf_segment *segment = leaf_cache_text(cache);
	bool again = cache->settled != cache->depth;

	if (segment && depth == cache->depth) {
		check_text(check, segment);
		for (uint32_t i = cache->shared + 1; i <= depth; i++)
			check->stream[i] = cached_frame(cache, i)->pc;
		check->stream_depth = cache->shared = depth;
		return;
	}
	stack_cache_settle(cache);
	if (again && cache_check_below(check, 8)) // else the recording stopped meanwhile
		make_text(cache->top);
	for (uint32_t i = cache->shared + 1; i <= depth; i++) {
		check->stream[i] = cache->frames[i].pc;
		// The writer fills these in; a capture may only keep one of the same pc.
		cache->frames[i].id = (uint32_t)cache->frames[i].pc;
	}
	check->stream_depth = depth;
	cache->shared = depth;
}

void cache_check_forget_stream(struct cache_check *check)
{
	check->stream_depth = 0;
	check->cache.shared = 0;
}

/* `shared` must be true of both stacks; then the event is written, in most cases. */
static void check_stream(struct cache_check *check, size_t count)
{
	struct stack_cache *cache = &check->cache;
	unsigned chance = (unsigned)cache_check_below(check, 64);

	if (cache->shared > check->stream_depth || cache->shared > cache->depth) {
		differ(check, "more is shared than there is", count);
		cache_check_forget_stream(check);
	}
	for (uint32_t i = 1; i <= cache->shared; i++) {
		if (check->stream[i] != cached_frame(cache, i)->pc) {
			differ(check, "a frame that is not shared", count);
			cache_check_forget_stream(check);
		}
	}
	for (uint32_t i = 1; i <= cache->depth; i++)
		if (cached_frame(cache, i)->id &&
		    cached_frame(cache, i)->id != (uint32_t)cached_frame(cache, i)->pc)
			differ(check, "another frame's id", count);
	if (chance == 0) // not written: the recording has stopped
		return;
	if (chance == 1) // a part was written, then the chunk was full
		write_change(check, cache->shared + (cache->depth - cache->shared) / 2);
	if (chance <= 3)
		cache_check_forget_stream(check);
	if (chance != 2)
		write_change(check, cache->depth);
}

/* What the agent does with a stack that the cache refuses. */
static void set(struct cache_check *check, size_t count)
{
	check->set++;
	if (!stack_cache_set(&check->cache, check->plain, count))
		differ(check, "no memory", count);
}

/* How many of the outermost frames are to be left out. */
static size_t cut_of(const struct cache_check *check, size_t frames)
{
	size_t step = check->depth_max == CACHE_CHECK_LARGE ? CACHE_CHECK_LARGE / 8 : 1;
	size_t cut = 0;

	while (frames - cut > check->depth_max)
		cut += step;
	return cut;
}

/* Whether the cache has cut the stack of `count` frames at another frame, which it may do. */
static bool is_cut_elsewhere(struct cache_check *check, size_t count)
{
	const struct stack_cache *cache = &check->cache;
	size_t kept = cache->depth - 1;

	if (check->depth_max != CACHE_CHECK_LARGE || kept > count ||
	    kept <= CACHE_CHECK_LARGE - CACHE_CHECK_LARGE / 8 || kept > CACHE_CHECK_LARGE)
		return false;
	for (size_t i = 0; i < kept; i++)
		if (cached_frame(cache, cache->depth - i)->pc != check->plain[i])
			return false;
	return cached_frame(cache, 1)->pc == TRACE_PC_TRUNCATED;
}

static void capture(struct cache_check *check, const struct unwind_state *state)
{
	uint64_t replaced = 0;
	size_t all, cut;
	struct stack_cache *cache = &check->cache;
	size_t count = 0;
	uint32_t hits = cache->leaves ? cache->leaves->hits : 0;
	enum unwind_end end, cached;

	// What depends on what came long before is tested elsewhere: that segments are left alone
	// while they do badly.
	if (cache->leaves)
		cache->leaves->pause = 0;
	if (check->epoch != atomic_load(&epoch)) {
		check->epoch = atomic_load(&epoch);
		check->bounds = (struct unwind_stack){0};
		stack_cache_clear(cache);
	}
	end = unwind_capture(state, &check->bounds, check->plain, CACHE_CHECK_DEPTH, &count);
	check->broken += end == UNWIND_BROKEN;
	if (end == UNWIND_TRUNCATED)
		abort();
	all = count;
	cut = cut_of(check, count);
	if (cut) {
		count -= cut;
		end = UNWIND_TRUNCATED;
		check->cut += check->depth_max == CACHE_CHECK_LARGE;
	}
	if (end != UNWIND_COMPLETE) {
		replaced = check->plain[count];
		check->plain[count++] = end == UNWIND_BROKEN ? TRACE_PC_BROKEN : TRACE_PC_TRUNCATED;
	}
	check->count = count;
	cache->depth_max = check->depth_max;
	cache->broken_pc = TRACE_PC_BROKEN;
	cache->truncated_pc = TRACE_PC_TRUNCATED;
	cached = stack_cache_capture(cache, state, &check->bounds);
	check->captures++;
	if (cached == UNWIND_REFUSED) {
		// One frame more for the end of a broken one is all that may be refused in vain. Of
		// a stack that was cut, only the number of the frames that were left out is known:
		// if they have changed, the cache notices when it walks, and refuses.
		if (check->depth_max == CACHE_CHECK_LARGE && cache->end == UNWIND_TRUNCATED)
			check->elsewhere++;
		else if (check->depth_max == CACHE_CHECK_LARGE || end == UNWIND_COMPLETE ||
			 (end == UNWIND_BROKEN && count <= check->depth_max))
			differ(check, "refused", count);
		set(check, count);
	} else if (cached != end || !equals(check, count)) {
		uint64_t mark = check->plain[count - 1];

		if (end != UNWIND_COMPLETE)
			check->plain[count - 1] = replaced;
		if (cached == UNWIND_TRUNCATED && is_cut_elsewhere(check, all))
			check->elsewhere++;
		else
			differ(check, cached != end ? "another end" : "another stack", count);
		check->plain[count - 1] = mark;
		set(check, count);
	} else {
		check->leaves += cache->leaves->hits > hits;
		check->kept += cache->shared > 0;
	}
	check_stream(check, count);
}

/* What the agent does with a stack that was captured elsewhere: an event that had to wait. */
static void set_another(struct cache_check *check)
{
	size_t count = cache_check_below(check, check->cache.depth + 1);

	for (size_t i = 0; i < count; i++)
		check->plain[i] = cached_frame(&check->cache, count - i)->pc;
	if (count && cache_check_below(check, 2))
		check->plain[cache_check_below(check, count)] ^= 1;
	set(check, count);
	if (!equals(check, count))
		differ(check, "another stack than was set", count);
	check_stream(check, count);
}

void cache_check_state(struct cache_check *check, const struct unwind_state *state)
{
	unsigned chance = (unsigned)cache_check_below(check, 512);

	if (chance == 0)
		stack_cache_clear(&check->cache);
	else if (chance < 4)
		set_another(check);
	else if (chance < 12)
		cache_check_forget_stream(check);
	capture(check, state);
}

size_t cache_check_same(const struct cache_check *check, const uint64_t *pcs, size_t count)
{
	size_t same = 0;

	while (same < count && same < check->count && check->plain[same] == pcs[same])
		same++;
	return same;
}

void cache_check_fail(struct cache_check *check, const char *how)
{
	differ(check, how, check->count);
}

__attribute__((noinline)) void cache_check_here(struct cache_check *check)
{
	struct unwind_state state = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
		.fp = *(uint64_t *)__builtin_frame_address(0),
	};

	cache_check_state(check, &state);
}
