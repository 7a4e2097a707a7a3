/* The steps of a walk on x86-64 that are not plain. See x86_64/step.h. */
#include "agent/unwind/x86_64/step.h"

#include "agent/unwind/memory.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/stack_bounds.h"
#include "agent/unwind/x86_64/registers.h"

/*
 * More signal handlers than this on one stack are garbage that leads in a circle. The same for
 * changes of the stack.
 */
#define SIGNALS_MAX 64
#define STACKS_MAX  64

/* A frame pointer is not farther from the stack pointer: 8 MiB, the usual stack size. */
#define FRAME_MAX (8u << 20)

/* If two frames are no farther apart, all pages between are checked: one limit for both. */
#define GAP_MAX (256u << 10)

/* No code lies below this: it was a call through a null pointer, or to a member of one. */
#define NULL_CALL_END 4096

/* reg: one of CALLEE_SAVED. */
static uint64_t *register_value(struct registers *registers, uint8_t reg)
{
	return reg == 3 ? &registers->rbx : &registers->r12_to_r15[reg - 12];
}

static bool can_read(struct crossing *crossing, uint64_t start, uint64_t end)
{
	if (likely(stack_bounds_can_read(crossing->stack, start, end)))
		return true;
	crossing->unreadable = true;
	return false;
}

static bool load(struct crossing *crossing, uint64_t address, uint64_t *ret)
{
	if (!can_read(crossing, address, address + 8))
		return false;
	*ret = bytes_u64((const void *)address);
	if (crossing->words && crossing->words->count < STEP_WORDS_MAX)
		crossing->words->word[crossing->words->count++] =
			(struct stack_word){address, *ret};
	return true;
}

/* Loads a word of the frame, or of the frame that it called (in the red zone). */
static bool load_word(const struct walk *walk, struct crossing *crossing, uint64_t address,
		      uint64_t *ret)
{
	return address >= walk->sp - ARCH_RED_ZONE && load(crossing, address, ret);
}

/* Offset of DWARF's register n in the saved context, in bytes. */
static const uint8_t context_offsets[] = {
	[0] = 144, [1] = 136, [2] = 152, [3] = 128, [4] = 112, [5] = 104, [6] = 120, [7] = 160,
	[8] = 40,  [9] = 48,  [10] = 56, [11] = 64, [12] = 72, [13] = 80, [14] = 88, [15] = 96,
};

/* The value of a base register in this frame. false: it is not known; sp and fp always are. */
static bool base_value(const struct walk *walk, struct crossing *crossing, uint8_t base,
		       uint64_t cfa, uint64_t *ret)
{
	struct registers *registers = crossing->registers;

	if (base == ARCH_DWARF_SP)
		*ret = walk->sp;
	else if (base == ARCH_DWARF_FP)
		*ret = walk->fp;
	else if (base == RULE_BASE_CFA)
		*ret = cfa;
	else if (base >= ARRAY_COUNT(context_offsets))
		return false;
	else if (crossing->context_sp == walk->sp)
		return load(crossing, crossing->context + context_offsets[base], ret);
	else if (registers && registers->known & 1u << base)
		*ret = *register_value(registers, base);
	else {
		crossing->missing |= 1u << base;
		return false;
	}
	return true;
}

/* The value that a register of the caller has. */
static bool place_value(const struct walk *walk, struct crossing *crossing, struct rule_place place,
			int32_t offset, uint64_t cfa, uint64_t *ret)
{
	uint64_t value;

	if (!base_value(walk, crossing, place.base, cfa, &value))
		return false;
	value += (uint64_t)offset;
	if (place.how == RULE_AT)
		return load_word(walk, crossing, value, ret);
	*ret = value;
	return true;
}

static bool find_cfa(const struct walk *walk, struct crossing *crossing,
		     const struct unwind_rule *rule, uint64_t *ret)
{
	uint64_t cfa;

	if (!base_value(walk, crossing, rule->cfa_base, 0, &cfa))
		return false;
	cfa += (uint64_t)rule->cfa_offset;
	if (rule->cfa_deref) {
		if (!load_word(walk, crossing, cfa, &cfa))
			return false;
		cfa += (uint64_t)rule->cfa_add;
	}
	*ret = cfa;
	// The interrupted function may run on another stack than its handler.
	return (rule->signal && rule->cfa_deref) || cfa > walk->sp;
}

/* After leaving a handler's frame. walk is at the interrupted function, with its exact pc. */
static enum step enter_interrupted(struct walk *walk, struct crossing *crossing)
{
	if (++crossing->signals > SIGNALS_MAX)
		return STEP_BROKEN;
	// No instruction was executed there: its frame is only the return address that the call
	// pushed.
	if (walk->pc < NULL_CALL_END) {
		if (!load(crossing, walk->sp, &walk->pc))
			return STEP_BROKEN;
		walk->sp += 8;
	} else {
		walk->pc++;
	}
	return STEP_SIGNAL;
}

static enum step step_by_rule(struct walk *walk, struct crossing *crossing,
			      const struct unwind_rule *rule)
{
	struct walk caller = *walk;

	if (!find_cfa(walk, crossing, rule, &caller.sp) ||
	    !place_value(walk, crossing, rule->ra, rule->ra_offset, caller.sp, &caller.pc))
		return STEP_BROKEN;
	// A lost fp matters only if a frame further out is based on it. So fp becomes 1: that is
	// below every sp, and unlike 0 does not mean the outermost frame.
	if (rule->fp.how != RULE_SAME &&
	    (rule->fp.how == RULE_LOST ||
	     !place_value(walk, crossing, rule->fp, rule->fp_offset, caller.sp, &caller.fp)))
		caller.fp = 1;
	if (!rule->signal) {
		*walk = caller;
		return caller.pc == 0 ? STEP_END : STEP_CALLER;
	}
	crossing->context = walk->sp;
	crossing->context_sp = rule->cfa_deref ? caller.sp : 0;
	*walk = caller;
	return enter_interrupted(walk, crossing);
}

struct call_search {
	uint64_t pc;
	bool found;
};

/* Whether a call stands before pc: E8 and 4 bytes, or FF /2 and up to 5 bytes, with a prefix. */
static void search_call(void *argument)
{
	struct call_search *search = argument;
	const uint8_t *code = (const uint8_t *)search->pc;
	uint64_t start;

	search->found = false;
	if (!module_find_code(search->pc - 1, &start) || search->pc - start < 7)
		return;
	search->found = code[-5] == 0xe8;
	for (int size = 2; size <= 7; size++)
		search->found |= code[-size] == 0xff && (code[1 - size] >> 3 & 7) == 2;
}

/* Whether pc is a return address in a module. One that a walk has come to before is. */
static bool is_return_address(uint64_t pc)
{
	struct call_search search = {.pc = pc};

	if (rule_table_find(atomic_load_explicit(&rule_table_current, memory_order_acquire), pc) !=
	    RULE_NONE)
		return true;
	unwind_run_slow(search_call, &search);
	return search.found;
}

/*
 * Reads the two words that a frame pointer leads to. Go's crosscall2 saves the frame pointer twice:
 * *fp leads to the next word, which is no return address, and is the frame.
 */
static bool load_pair(struct crossing *crossing, uint64_t *fp, uint64_t *caller, uint64_t *pc)
{
	if (!load(crossing, *fp, caller) || !load(crossing, *fp + 8, pc))
		return false;
	if (*caller != *fp + 8 || is_return_address(*pc))
		return true;
	*fp += 8;
	*caller = *pc;
	return load(crossing, *fp + 8, pc);
}

/* The same, if they look like what a function saved. */
static bool load_frame(struct crossing *crossing, uint64_t *fp, uint64_t *caller, uint64_t *pc)
{
	return *fp % 8 == 0 && *fp >= STACK_PAGE && can_read(crossing, *fp, *fp + 16) &&
	       load_pair(crossing, fp, caller, pc) && is_return_address(*pc);
}

/*
 * Code without tables whose frame pointer is elsewhere: Go's asmcgocall has called C on the
 * thread's stack, and its own frame is on the goroutine's. Nothing says that, so two frames in a
 * row must look right.
 */
static enum step step_to_other_stack(struct walk *walk, struct crossing *crossing)
{
	uint64_t fp = walk->fp, caller, pc, outer, next, next_pc;

	// Slightly below sp are frames of functions that have returned.
	if (walk->sp - fp <= FRAME_MAX || ++crossing->stacks > STACKS_MAX ||
	    !load_frame(crossing, &fp, &caller, &pc) || caller <= fp || caller - fp > FRAME_MAX)
		return STEP_BROKEN;
	outer = caller;
	if (!load_frame(crossing, &outer, &next, &next_pc))
		return STEP_BROKEN;
	*walk = (struct walk){.pc = pc, .sp = fp + 16, .fp = caller};
	return STEP_OTHER_STACK;
}

/* Code without tables. JIT compilers and assembly keep frame pointers, or have cleared fp. */
static enum step step_by_frame_pointer(struct walk *walk, struct crossing *crossing)
{
	uint64_t fp = walk->fp;

	if (fp == 0)
		return STEP_END;
	if (fp < walk->sp || fp - walk->sp > FRAME_MAX)
		return step_to_other_stack(walk, crossing);
	// Nothing says that fp is valid. But a stack has no gaps, so all words up to it must be
	// readable.
	if (fp % 8 != 0 || !can_read(crossing, walk->sp, fp + 16) ||
	    !load_pair(crossing, &fp, &walk->fp, &walk->pc))
		return STEP_BROKEN;
	walk->sp = fp + 16;
	return walk->pc == 0 ? STEP_END : STEP_CALLER;
}

/* Sets the limit for the new frame. */
static void set_limit(struct walk *walk, struct crossing *crossing, enum step result, uint64_t from)
{
	if (result == STEP_CALLER && walk->sp > walk->limit && walk->sp - from < GAP_MAX)
		stack_bounds_can_read(crossing->stack, from, walk->sp);
	walk->limit = stack_bounds_end(crossing->stack, walk->sp);
}

static enum step step_by(struct walk *walk, struct crossing *crossing, unsigned packed)
{
	struct unwind_rule rule;

	if (packed != RULE_NONE) {
		rule_unpack((uint16_t)packed, &rule);
	} else {
		rule_find_slow(walk->pc, &rule);
		rule_table_insert(walk->pc, rule_pack(&rule));
	}
	switch (rule.kind) {
	case RULE_STEP:
		return step_by_rule(walk, crossing, &rule);
	case RULE_FRAME_POINTER:
		return step_by_frame_pointer(walk, crossing);
	case RULE_END:
		return STEP_END;
	default:
		return STEP_BROKEN;
	}
}

never_inline enum step step_slow(struct walk *walk, struct crossing *crossing, unsigned packed)
{
	uint64_t from = walk->sp;
	enum step result = step_by(walk, crossing, packed);

	if (result < STEP_END)
		set_limit(walk, crossing, result, from);
	return result;
}

bool step_needs_fp(unsigned packed, bool caller_needs_fp)
{
	struct unwind_rule rule;

	if (packed == RULE_NONE)
		return true;
	rule_unpack((uint16_t)packed, &rule);
	if (rule.kind != RULE_STEP)
		return rule.kind == RULE_FRAME_POINTER;
	if (rule.cfa_base == ARCH_DWARF_FP || rule.ra.base == ARCH_DWARF_FP)
		return true;
	return caller_needs_fp && (rule.fp.how == RULE_SAME || rule.fp.base == ARCH_DWARF_FP);
}

/* The value of a tracked register in the caller of callee. result: of the step to that caller. */
static bool tracked_value(const struct walk *callee, struct crossing *crossing, enum step result,
			  uint8_t reg, uint64_t cfa, uint64_t *ret)
{
	struct rule_place place;
	int32_t offset;

	if (result == STEP_SIGNAL && crossing->context_sp != 0)
		return load(crossing, crossing->context + context_offsets[reg], ret);
	rule_find_register_slow(callee->pc, reg, &place, &offset);
	if (place.how == RULE_LOST)
		return false;
	if (place.how == RULE_SAME)
		place = (struct rule_place){.how = RULE_VALUE, .base = reg};
	return place_value(callee, crossing, place, offset, cfa, ret);
}

never_inline enum step step_tracking_slow(struct walk *walk, struct crossing *crossing)
{
	struct registers caller = {.wanted = crossing->registers->wanted};
	struct walk callee = *walk;
	enum step result = step(walk, crossing);

	if (result >= STEP_END)
		return result;
	for (unsigned reg = 0; reg < ARRAY_COUNT(context_offsets); reg++) {
		if (caller.wanted & 1u << reg &&
		    tracked_value(&callee, crossing, result, reg, walk->sp,
				  register_value(&caller, reg)))
			caller.known |= 1u << reg;
	}
	*crossing->registers = caller;
	return result;
}
