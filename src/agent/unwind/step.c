/* The steps of a walk that are not plain. See step.h. */
#include "agent/unwind/step.h"

#include "agent/unwind/memory.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/stack_bounds.h"

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

/* reg: one of ARCH_TRACKED. */
static uint64_t *register_value(struct registers *registers, uint8_t reg)
{
	return &registers->values[arch_tracked_index(reg)];
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
	if (!can_read(crossing, address, address + ARCH_WORD))
		return false;
	*ret = word_at(address);
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
	else if (base >= ARCH_CONTEXT_REGISTERS)
		return false;
	else if (crossing->context_sp == walk->sp)
		return load(crossing, crossing->context + arch_context_offset(base), ret);
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
	// The interrupted function may run on another stack than its handler. It may have no frame,
	// if its return address is in a register: then the caller's sp is the same.
	return (rule->signal && rule->cfa_deref) || cfa > walk->sp ||
	       (ARCH_LINK_REGISTER && cfa == walk->sp && rule->ra.how == RULE_VALUE &&
		(rule->ra.base == ARCH_DWARF_PC ||
		 (rule->ra.base == ARCH_DWARF_FP &&
		  walk->fp == 0))); // ends: RISC-V's makecontext()
}

/* After leaving a handler's frame. walk is at the interrupted function, with its exact pc. */
static enum step enter_interrupted(struct walk *walk, struct crossing *crossing)
{
	if (++crossing->signals > SIGNALS_MAX)
		return STEP_BROKEN;
	// No instruction was executed there: its frame is only the return address that the call
	// left.
	if (walk->pc < NULL_CALL_END) {
		if (!load(crossing,
			  ARCH_LINK_REGISTER
				  ? crossing->context + arch_context_offset(ARCH_DWARF_PC)
				  : walk->sp,
			  &walk->pc))
			return STEP_BROKEN;
		walk->pc = arch_strip(walk->pc);
		walk->sp += ARCH_LINK_REGISTER ? 0 : ARCH_WORD;
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
	caller.pc = arch_strip(caller.pc);
	if (!rule->signal) {
		crossing->context_sp = 0; // the caller of a function without a frame has its sp
		*walk = caller;
		if (caller.pc == 0) // of a guess: what was read is no return address
			return rule->kind == RULE_GUESS ? STEP_BROKEN : STEP_END;
		return STEP_CALLER;
	}
	crossing->context = walk->sp + (uint64_t)(rule->cfa_offset - ARCH_CONTEXT_SP);
	crossing->context_sp = rule->cfa_deref ? caller.sp : 0;
	*walk = caller;
	return enter_interrupted(walk, crossing);
}

/*
 * Whether code without tables returns from a signal handler: it may be in memory of no module. Were
 * such a frame not known, a walk would miss the hook that the signal interrupted.
 */
static void try_signal_return(const struct crossing *crossing, uint64_t pc, struct unwind_rule *ret)
{
	if (pc > NULL_CALL_END &&
	    stack_bounds_can_read(crossing->stack, pc, pc + ARCH_SIGNAL_RETURN_MAX))
		rule_of_signal_return(pc, ARCH_SIGNAL_RETURN_MAX, ret);
}

static void find_rule(uint64_t pc, const struct crossing *crossing, unsigned packed,
		      struct unwind_rule *ret)
{
	if (packed != RULE_NONE) {
		rule_unpack((uint16_t)packed, ret);
		return;
	}
	rule_find_slow(pc, ret);
	if (ret->kind == RULE_FRAME_POINTER)
		try_signal_return(crossing, pc, ret);
	rule_table_insert(pc, rule_pack(ret));
}

struct call_search {
	uint64_t pc;
	bool found;
};

/* Whether a call stands before pc. */
static void search_call(void *argument)
{
	struct call_search *search = argument;
	uint64_t start;

	search->found = module_find_code(search->pc - 1, &start) &&
			search->pc - start >= ARCH_CALL_MAX &&
			arch_is_behind_call((const uint8_t *)(uintptr_t)search->pc);
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
 * *record leads to the next word, which is no return address, and is the frame.
 */
static bool load_record(struct crossing *crossing, uint64_t *record, uint64_t *caller, uint64_t *pc)
{
	if (!load(crossing, *record, caller) || !load(crossing, *record + ARCH_WORD, pc))
		return false;
	if (*caller == *record + ARCH_WORD && !is_return_address(arch_strip(*pc))) {
		*record += ARCH_WORD;
		*caller = *pc;
		if (!load(crossing, *record + ARCH_WORD, pc))
			return false;
	}
	*pc = arch_strip(*pc);
	return true;
}

/* The same, if they look like what a function saved. */
static bool load_frame(struct crossing *crossing, uint64_t *record, uint64_t *caller, uint64_t *pc)
{
	return *record % ARCH_WORD == 0 && *record >= STACK_PAGE &&
	       can_read(crossing, *record, *record + 2 * ARCH_WORD) &&
	       load_record(crossing, record, caller, pc) && is_return_address(*pc);
}

/*
 * Code without tables whose frame pointer is elsewhere: Go's asmcgocall has called C on the
 * thread's stack, and its own frame is on the goroutine's. Nothing says that, so two frames in a
 * row must look right.
 */
static enum step step_to_other_stack(struct walk *walk, struct crossing *crossing)
{
	uint64_t record = walk->fp + ARCH_FRAME_RECORD, caller, pc, outer, next, next_pc;

	// Slightly below sp are frames of functions that have returned.
	if (walk->sp - record <= FRAME_MAX || ++crossing->stacks > STACKS_MAX ||
	    !load_frame(crossing, &record, &caller, &pc) || caller <= record ||
	    caller - record > FRAME_MAX)
		return STEP_BROKEN;
	outer = caller + ARCH_FRAME_RECORD;
	if (!load_frame(crossing, &outer, &next, &next_pc))
		return STEP_BROKEN;
	*walk = (struct walk){.pc = pc, .sp = record + 2 * ARCH_WORD, .fp = caller};
	return STEP_OTHER_STACK;
}

static void find_caller_rule(uint64_t pc, const struct crossing *crossing, struct unwind_rule *ret)
{
	find_rule(pc, crossing,
		  rule_table_find(atomic_load_explicit(&rule_table_current, memory_order_acquire),
				  pc),
		  ret);
}

/*
 * Where a frame's record may lie anywhere in it, a frame pointer does not tell the caller's sp. But
 * the caller's own record is where its fp leads to, and its rule knows how far that is from its
 * CFA.
 */
static void make_sp_sure(struct walk *walk, struct crossing *crossing)
{
	struct unwind_rule rule;
	uint64_t sp;

	if (!ARCH_FRAME_PAIRS || walk->pc == 0)
		return;
	find_caller_rule(walk->pc, crossing, &rule);
	sp = walk->fp - (uint64_t)(int64_t)(rule.fp_offset + rule.cfa_offset);
	if (rule.kind == RULE_STEP && rule.cfa_base == ARCH_DWARF_SP && !rule.cfa_deref &&
	    rule.fp.how == RULE_AT && rule.fp.base == RULE_BASE_CFA && sp >= walk->sp &&
	    sp - walk->sp <= FRAME_MAX)
		walk->sp = sp;
}

/*
 * Whether the register of the return address still leads to the caller of code without tables that
 * was interrupted: arm64's vDSO, the linker's stubs. If such code has called, it leads into itself
 * instead, where no table is either.
 */
static bool is_still_called(const struct walk *walk, struct crossing *crossing, uint64_t *caller)
{
	struct unwind_rule rule;
	uint64_t pc;

	if (!ARCH_LINK_REGISTER || crossing->context_sp != walk->sp ||
	    !load(crossing, crossing->context + arch_context_offset(ARCH_DWARF_PC), &pc))
		return false;
	pc = arch_strip(pc);
	if (!is_return_address(pc))
		return false;
	find_caller_rule(pc, crossing, &rule);
	*caller = pc;
	return rule.kind == RULE_STEP || rule.kind == RULE_GUESS;
}

/* Code without tables. JIT compilers and assembly keep frame pointers, or have cleared fp. */
static enum step step_by_frame_pointer(struct walk *walk, struct crossing *crossing)
{
	uint64_t record = walk->fp + ARCH_FRAME_RECORD, caller;

	if (is_still_called(walk, crossing, &caller)) {
		walk->pc = caller;
		crossing->context_sp = 0;
		make_sp_sure(walk, crossing);
		return STEP_CALLER;
	}
	// Where frame pointers are no chain, the register may be 0 anywhere.
	if (!ARCH_FRAME_CHAIN)
		return STEP_BROKEN;
	if (walk->fp == 0)
		return STEP_END;
	if (record < walk->sp || record - walk->sp > FRAME_MAX)
		return step_to_other_stack(walk, crossing);
	// Nothing says that fp is valid. But a stack has no gaps, so all words up to it must be
	// readable.
	if (record % ARCH_WORD != 0 || !can_read(crossing, walk->sp, record + 2 * ARCH_WORD) ||
	    !load_record(crossing, &record, &walk->fp, &walk->pc))
		return STEP_BROKEN;
	walk->sp = record + 2 * ARCH_WORD;
	make_sp_sure(walk, crossing);
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

	find_rule(walk->pc, crossing, packed, &rule);
	switch (rule.kind) {
	case RULE_STEP:
	case RULE_GUESS:
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
	if (rule.kind != RULE_STEP && rule.kind != RULE_GUESS)
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
		return load(crossing, crossing->context + arch_context_offset(reg), ret);
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
	for (unsigned reg = 0; reg < ARCH_CONTEXT_REGISTERS; reg++) {
		if (caller.wanted & 1u << reg &&
		    tracked_value(&callee, crossing, result, reg, walk->sp,
				  register_value(&caller, reg)))
			caller.known |= 1u << reg;
	}
	*crossing->registers = caller;
	return result;
}
