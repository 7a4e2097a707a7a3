/*
 * The unwinder: from the registers of a thread to the addresses of its frames, by the tables that
 * the loader compiled from .eh_frame (unwind_table.h).
 *
 *	(pc, sp, fp) --rule of pc--> CFA --words on the stack--> (pc, sp, fp) of the caller
 *
 * Only sp and fp are tracked (behind a signal, also the register of the return address): compilers
 * use no other registers, and hand-written code that does ends the walk, counted. A walk ends at a
 * frame without a caller, at the first address that is no code, or at the first word that cannot be
 * read, so there is never a made-up address in a stack.
 *
 * The kernel adds up the stacks of functions that call one another, up to Linux 6.8 each rounded up
 * to 32 bytes, and allows 512: what a probe's program takes with all functions down to
 * search_row().
 */
#ifndef MALLOW_EBPF_BPF_WALK_BPF_H
#define MALLOW_EBPF_BPF_WALK_BPF_H

#include "cfi/abi.h"
#include "cfi/unwind_rule.h"
#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/bpf/maps.bpf.h"

/* No frame is larger than this. */
#define FRAME_SIZE_MAX (64ull << 20)

/* Above all rules: see find_rule(). */
#define RULE_UNMAPPED 0xffffffffu

struct walk {
	uint64_t pc, sp, fp;
	uint64_t callee_sp, callee_fp; /* of the frame before */
	uint64_t hash;
	uint64_t until;   /* the walk ends at a frame with this sp or a higher one */
	uint64_t context; /* where the kernel saved the registers of a frame that is exact */
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

/* The rule of a span's last row at or before pc. search: any, as the stack is small. */
static __always_inline uint32_t rule_in_span(const struct bpf_span *span, uint32_t pc,
					     struct search *search)
{
	uint32_t zero = 0;
	const struct unwind_row *rows = bpf_map_lookup_elem(&rows_map, &zero);
	uint64_t row;

	if (!rows)
		return RULE_NONE;
	*search = (struct search){.low = span->first_row,
				  .high = (uint64_t)span->first_row + span->rows,
				  .key = pc,
				  .list = rows};
	bpf_loop(32, search_row, search, 0);
	row = search->low - 1;
	// Code in front of the first row has no entry.
	if (search->low <= span->first_row || row >= settings.rows)
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
	return rule_in_span(span, (uint32_t)(address - span->bias), &search);
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
	if (rule <= 0xffff && address >> 48 == 0)
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
	walk->pc = pc = arch_strip(pc);
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

/* Where a plain rule's pair of the caller's fp and pc lies, above the rule's base. */
#define PAIR_OFFSET(slot) (((slot)-1) * 16)

static __always_inline void step_plain(struct walk *walk, uint32_t rule)
{
	uint64_t base = rule & RULE_BASE_SP ? walk->sp : walk->fp;
	uint64_t cfa = base + (rule & RULE_OFFSET_MASK) * 8;
	uint32_t slot = rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;
	uint64_t words[2], fp = walk->fp;

	if (!grows(walk, cfa)) {
		end_walk(walk, STACK_UNREADABLE);
		return;
	}
	if (ARCH_FRAME_PAIRS ? slot > 0 : slot == 2) { // both words at once
		uint64_t pair = ARCH_FRAME_PAIRS ? base + PAIR_OFFSET(slot) : cfa - 16;

		if (bpf_probe_read_user(words, 16, (const void *)pair)) {
			end_walk(walk, STACK_UNREADABLE);
			return;
		}
		fp = words[0];
	} else if (!read_word(ARCH_FRAME_PAIRS ? base : cfa - 8, &words[1]) ||
		   (slot && !read_word(cfa - slot * 8, &fp))) {
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
	if (words[0] != *fp + 8 || cached_rule(arch_strip(words[1]) - 1) != RULE_UNMAPPED)
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
	return read_frame(&outer, next) && cached_rule(arch_strip(words[1]) - 1) != RULE_UNMAPPED &&
	       cached_rule(arch_strip(next[1]) - 1) != RULE_UNMAPPED;
}

/*
 * Enters the caller of a function that was left by its frame pointer. Where the record of fp and pc
 * lies anywhere in a frame, it does not tell the caller's sp; but the caller's own record is where
 * its fp leads to, and its rule says how far that is from its sp.
 */
static __always_inline void enter_by_frame(struct walk *walk, const uint64_t words[2], uint64_t sp)
{
	uint32_t rule, slot;

	enter_caller(walk, words[1], sp, words[0], 0);
	if (!ARCH_FRAME_PAIRS || !walk->pc)
		return;
	rule = cached_rule(walk->pc - 1);
	slot = rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;
	if (rule != RULE_UNMAPPED && rule >= RULE_PLAIN && rule & RULE_BASE_SP && slot &&
	    walk->fp - PAIR_OFFSET(slot) >= sp)
		walk->sp = walk->fp - PAIR_OFFSET(slot);
}

/*
 * Whether the register of the return address still leads to the caller of code without tables that
 * was interrupted: arm64's vDSO, the linker's stubs. If such code has called, it leads into itself
 * instead, where no table is either.
 */
static __always_inline bool is_still_called(const struct walk *walk, uint64_t *pc)
{
	uint32_t rule;

	if (!ARCH_LINK_REGISTER || !walk->exact ||
	    !read_word(walk->context + arch_context_offset(ARCH_DWARF_PC), pc))
		return false;
	rule = cached_rule(arch_strip(*pc) - 1);
	return rule != RULE_UNMAPPED && rule != RULE_NONE;
}

/* Code without tables: it may keep a chain of frame pointers. */
static __always_inline void step_frame_pointer(struct walk *walk)
{
	uint64_t words[2] = {walk->fp, 0}, fp = walk->fp;

	if (is_still_called(walk, &words[1]))
		enter_by_frame(walk, words, walk->sp);
	else if (fp < walk->sp || fp - walk->sp > FRAME_SIZE_MAX
			 ? !read_other_stack(walk, &fp, words)
			 : !read_frame(&fp, words))
		end_walk(walk, STACK_NO_TABLES);
	else
		enter_by_frame(walk, words, fp + 16);
}

/* The value of a base register; false: it is not tracked. */
static __always_inline bool base_of(const struct walk *walk, uint32_t base, uint64_t cfa,
				    uint64_t *ret)
{
	if (base == ARCH_DWARF_SP)
		*ret = walk->sp;
	else if (base == ARCH_DWARF_FP)
		*ret = walk->fp;
	else if (base == RULE_BASE_CFA)
		*ret = cfa;
	else // what a signal interrupted need not have saved its return address
		return ARCH_LINK_REGISTER && base == ARCH_DWARF_PC && walk->exact &&
		       read_word(walk->context + arch_context_offset(ARCH_DWARF_PC), ret);
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
	// And what was interrupted may have no frame, if a register has its return address.
	if ((!rule->signal && !grows(walk, cfa) &&
	     !(ARCH_LINK_REGISTER && walk->exact && cfa == walk->sp)) ||
	    !place_value(walk, &rule->ra, rule->ra_offset, cfa, &pc)) {
		end_walk(walk, STACK_UNREADABLE);
		return;
	}
	// Most frames can do without it.
	if (!place_value(walk, &rule->fp, rule->fp_offset, cfa, &fp))
		fp = 0;
	walk->context = rule->signal ? walk->sp : 0;
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
	enter_by_frame(walk, words, fp + 16);
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
	// Before Linux 6.7 the verifier looks at one step alone, and removes what a later step
	// would do if that one cannot. So it must not know these numbers.
	walk.context = walk.callee_sp = walk.callee_fp = thread->zero;
	walk.count = walk.exact = walk.over = (uint32_t)thread->zero;
	bpf_loop(most, walk_step, &walk, 0);
	thread->walk_sp = walk.sp;
	thread->walk_pc = walk.pc;
	thread->walk_hash = walk.hash;
	thread->walk_frames = walk.count;
	thread->walk_end = walk.end;
	return walk.end;
}

#endif
