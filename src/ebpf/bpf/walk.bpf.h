/*
 * The unwinder: from the registers of a thread to the addresses of its frames, by the tables that
 * the loader compiled from .eh_frame (unwind_table.h).
 *
 *	(pc, sp, fp) --rule of pc--> CFA --words on the stack--> (pc, sp, fp) of the caller
 *
 * Only sp and fp are tracked: compilers use no other registers, and hand-written code that does
 * ends the walk, counted. A walk ends at a frame without a caller, at the first address that is no
 * code, or at the first word that cannot be read, so there is never a made-up address in a stack.
 */
#ifndef MALLOW_EBPF_BPF_WALK_BPF_H
#define MALLOW_EBPF_BPF_WALK_BPF_H

#include "cfi/unwind_rule.h"
#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/bpf/maps.bpf.h"

/* Numbers of registers in rules: DWARF's of x86-64. */
#define DWARF_FP 6
#define DWARF_SP 7

/* No frame is larger than this. */
#define FRAME_SIZE_MAX (64ull << 20)

/* Above all rules: see find_rule(). */
#define RULE_UNMAPPED 0xffffffffu

struct walk {
	uint64_t pc, sp, fp;
	uint64_t callee_sp, callee_fp; /* of the frame before */
	uint64_t hash;
	uint64_t until; /* the walk ends at a frame with this sp or a higher one */
	struct thread *thread;
	uint32_t count; /* frames so far */
	uint32_t end;   /* enum stack_end, once the walk is over */
	uint32_t exact; /* 1: pc was interrupted; 0: it is a return address, and the call before it
			   counts */
	uint32_t over;
};

/*
 * A binary search, a step of bpf_loop() each time: the verifier would follow both ways of each step
 * of an ordinary loop, which made loading three times slower.
 */
struct search {
	uint64_t low, high; /* what is sought is in [low, high) */
	uint64_t key;
	const void *list;
};

static long search_span(uint32_t index, struct search *search)
{
	const struct bpf_spans *spans = search->list;
	uint64_t middle = (search->low + search->high) / 2;

	if (search->low >= search->high || middle >= SPANS_MAX)
		return 1;
	if (spans->list[middle].start <= search->key)
		search->low = middle + 1;
	else
		search->high = middle;
	return 0;
}

static long search_row(uint32_t index, struct search *search)
{
	const struct unwind_row *rows = search->list;
	uint64_t middle = (search->low + search->high) / 2;

	if (search->low >= search->high || middle >= settings.rows)
		return 1;
	if (rows[middle].pc <= search->key)
		search->low = middle + 1;
	else
		search->high = middle;
	return 0;
}

/* The rule of a span's last row at or before pc. */
static __always_inline uint32_t rule_in_span(const struct bpf_span *span, uint32_t pc)
{
	uint32_t zero = 0;
	const struct unwind_row *rows = bpf_map_lookup_elem(&rows_map, &zero);
	struct search search = {.low = span->first_row,
				.high = (uint64_t)span->first_row + span->rows,
				.key = pc,
				.list = rows};
	uint64_t row;

	if (!rows)
		return RULE_NONE;
	bpf_loop(32, search_row, &search, 0);
	row = search.low - 1;
	// Code in front of the first row has no entry.
	if (search.low <= span->first_row || row >= settings.rows)
		return RULE_NONE;
	return rows[row].rule;
}

/*
 * Finds the packed rule of an address in the tables. RULE_UNMAPPED: it is no code. A global
 * function, so the verifier looks at it once.
 */
__noinline uint32_t find_rule(uint64_t address)
{
	uint32_t which = state.spans & 1;
	const struct bpf_spans *spans = bpf_map_lookup_elem(&spans_map, &which);
	struct search search = {.key = address, .list = spans};
	const struct bpf_span *span;
	uint64_t index;

	if (!spans)
		return RULE_UNMAPPED;
	search.high = spans->count;
	bpf_loop(16, search_span, &search, 0);
	index = search.low - 1;
	if (index >= SPANS_MAX)
		return RULE_UNMAPPED;
	span = &spans->list[index];
	if (address >= span->end)
		return RULE_UNMAPPED;
	if (!span->rows)
		return RULE_NONE;
	return rule_in_span(span, (uint32_t)(address - span->bias));
}

static __always_inline uint32_t cached_rule(uint64_t address)
{
	uint32_t slot = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> (64 - RULE_CACHE_BITS));
	uint64_t *entry = bpf_map_lookup_elem(&rule_cache, &slot);
	uint32_t rule;

	if (!entry)
		return RULE_UNMAPPED;
	if (*entry >> 16 == address)
		return *entry & 0xffff;
	rule = find_rule(address);
	if (rule <= 0xffff && address >> 47 == 0)
		*entry = address << 16 | rule;
	return rule;
}

static __always_inline bool read_word(uint64_t address, uint64_t *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)address) == 0;
}

static __always_inline void end_walk(struct walk *walk, uint32_t end)
{
	walk->end = end;
	walk->over = 1;
}

/* Goes to the caller's frame, once its registers are known. */
static __always_inline void enter_caller(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp,
					 uint32_t exact)
{
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = exact;
	// glibc's and musl's thread starts and the kernel's entry leave 0 there.
	if (!pc)
		end_walk(walk, STACK_WHOLE);
}

static __always_inline bool grows(const struct walk *walk, uint64_t cfa)
{
	return cfa > walk->sp && cfa - walk->sp <= FRAME_SIZE_MAX;
}

static __always_inline void step_plain(struct walk *walk, uint32_t rule)
{
	uint64_t cfa = (rule & RULE_BASE_SP ? walk->sp : walk->fp) + (rule & RULE_OFFSET_MASK) * 8;
	uint32_t slot = rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;
	uint64_t words[2], fp = walk->fp;

	if (!grows(walk, cfa)) {
		end_walk(walk, STACK_UNREADABLE);
		return;
	}
	if (slot == 2) { // push %rbp came first: both words at once
		if (bpf_probe_read_user(words, 16, (const void *)(cfa - 16))) {
			end_walk(walk, STACK_UNREADABLE);
			return;
		}
		fp = words[0];
	} else if (!read_word(cfa - 8, &words[1]) || (slot && !read_word(cfa - slot * 8, &fp))) {
		end_walk(walk, STACK_UNREADABLE);
		return;
	}
	enter_caller(walk, words[1], cfa, fp, 0);
}

/*
 * Reads the two words that a frame pointer leads to. Go's crosscall2 saves it twice: *fp leads to
 * the next word, which is no code, and is the frame.
 */
static __noinline bool read_frame(uint64_t *fp, uint64_t words[2])
{
	if (*fp & 7 || bpf_probe_read_user(words, 16, (const void *)*fp))
		return false;
	if (words[0] != *fp + 8 || cached_rule(words[1] - 1) != RULE_UNMAPPED)
		return true;
	*fp += 8;
	return !bpf_probe_read_user(words, 16, (const void *)*fp);
}

/*
 * Reads what a frame pointer elsewhere than on this stack leads to: Go's asmcgocall has called C on
 * another stack. Two frames in a row must look right. Slightly below sp are frames of functions
 * that have returned.
 */
static __noinline bool read_other_stack(const struct walk *walk, uint64_t *fp, uint64_t words[2])
{
	uint64_t next[2] = {0, 0}, outer;

	if (walk->sp - *fp <= FRAME_SIZE_MAX || !read_frame(fp, words) || words[0] <= *fp ||
	    words[0] - *fp > FRAME_SIZE_MAX)
		return false;
	outer = words[0];
	return read_frame(&outer, next) && cached_rule(words[1] - 1) != RULE_UNMAPPED &&
	       cached_rule(next[1] - 1) != RULE_UNMAPPED;
}

/* Code without tables: it may keep a chain of frame pointers. */
static __always_inline void step_frame_pointer(struct walk *walk)
{
	uint64_t words[2] = {0, 0}, fp = walk->fp;

	if (fp < walk->sp || fp - walk->sp > FRAME_SIZE_MAX ? !read_other_stack(walk, &fp, words)
							    : !read_frame(&fp, words))
		end_walk(walk, STACK_NO_TABLES);
	else
		enter_caller(walk, words[1], fp + 16, words[0], 0);
}

/* The value of a base register; false: it is not tracked. */
static __always_inline bool base_of(const struct walk *walk, uint32_t base, uint64_t cfa,
				    uint64_t *ret)
{
	if (base == DWARF_SP)
		*ret = walk->sp;
	else if (base == DWARF_FP)
		*ret = walk->fp;
	else if (base == RULE_BASE_CFA)
		*ret = cfa;
	else
		return false;
	return true;
}

static __always_inline bool place_value(const struct walk *walk, const struct rule_place *place,
					int32_t offset, uint64_t cfa, uint64_t *ret)
{
	uint64_t base;

	if (place->how == RULE_SAME)
		return true;
	if (place->how == RULE_LOST) {
		*ret = 0;
		return true;
	}
	if (!base_of(walk, place->base, cfa, &base))
		return false;
	if (place->how == RULE_VALUE) {
		*ret = base + (int64_t)offset;
		return true;
	}
	return read_word(base + (int64_t)offset, ret);
}

static __noinline void step_wide(struct walk *walk, uint32_t number)
{
	const struct unwind_rule *rule = bpf_map_lookup_elem(&rules_map, &number);
	uint64_t cfa, pc = 0, fp = walk->fp;

	if (!rule || rule->kind == RULE_BROKEN) {
		end_walk(walk, STACK_NO_TABLES);
		return;
	}
	if (rule->kind == RULE_END) {
		end_walk(walk, STACK_WHOLE);
		return;
	}
	if (!base_of(walk, rule->cfa_base, 0, &cfa)) {
		end_walk(walk, STACK_NO_TABLES);
		return;
	}
	cfa += (int64_t)rule->cfa_offset;
	if (rule->cfa_deref) {
		if (!read_word(cfa, &cfa)) {
			end_walk(walk, STACK_UNREADABLE);
			return;
		}
		cfa += (int64_t)rule->cfa_add;
	}
	// A signal handler may run on a stack of its own: then the interrupted frame is anywhere.
	if ((!rule->signal && !grows(walk, cfa)) ||
	    !place_value(walk, &rule->ra, rule->ra_offset, cfa, &pc)) {
		end_walk(walk, STACK_UNREADABLE);
		return;
	}
	// Most frames can do without it.
	if (!place_value(walk, &rule->fp, rule->fp_offset, cfa, &fp))
		fp = 0;
	enter_caller(walk, pc, cfa, fp, rule->signal);
}

/* Goes on from the frame before by its frame pointer, where its tables led to no code. */
static __always_inline bool enter_other_stack(struct walk *walk)
{
	uint64_t words[2] = {0, 0}, fp = walk->callee_fp;

	if (!walk->count || !fp)
		return false;
	walk->sp = walk->callee_sp;
	if (!read_other_stack(walk, &fp, words))
		return false;
	enter_caller(walk, words[1], fp + 16, words[0], 0);
	walk->callee_fp = 0;
	return true;
}

static long walk_step(uint32_t index, struct walk *walk)
{
	uint64_t address = walk->pc - (walk->exact ? 0 : 1);
	uint32_t rule;

	if (walk->sp >= walk->until)
		return 1;
	rule = cached_rule(address);
	if (rule == RULE_UNMAPPED) {
		// Go's tables do not know that asmcgocall switches stacks.
		if (enter_other_stack(walk))
			return 0;
		end_walk(walk, STACK_UNMAPPED);
		return 1;
	}

	uint64_t frame = walk->pc | (walk->exact ? FRAME_INTERRUPTED : 0);

	walk->thread->frames[walk->count & (STACK_FRAMES_MAX - 1)] = frame;
	walk->count++;
	walk->hash = (walk->hash ^ frame) * 0xff51afd7ed558ccdull;
	walk->hash ^= walk->hash >> 32;
	walk->callee_sp = walk->sp;
	walk->callee_fp = walk->fp;
	if (rule >= RULE_PLAIN)
		step_plain(walk, rule);
	else if (rule == RULE_NONE)
		step_frame_pointer(walk);
	else
		step_wide(walk, rule);
	return walk->over != 0;
}

/*
 * Walks from the frame of these registers outwards, until thread->walk_until; what it finds is in
 * the thread, too. most: frames, at most STACK_FRAMES_MAX. Returns enum stack_end.
 *
 * A global function, and the only one that walks: so the verifier looks at a step once in each
 * program, and not once for each caller.
 */
__noinline uint32_t walk_thread(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp,
				uint32_t most)
{
	struct walk walk = {.pc = pc, .sp = sp, .fp = fp, .end = STACK_TOO_DEEP, .thread = thread};

	if (!thread)
		return STACK_UNMAPPED;
	walk.until = thread->walk_until;
	bpf_loop(most, walk_step, &walk, 0);
	thread->walk_sp = walk.sp;
	thread->walk_hash = walk.hash;
	thread->walk_frames = walk.count;
	thread->walk_end = walk.end;
	return walk.end;
}

#endif
