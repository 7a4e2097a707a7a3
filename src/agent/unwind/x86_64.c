/*
 * Walking the stack on x86-64.
 *
 * One step is a function of (pc, sp, fp), of the rule for pc and of at most two stack words, so
 * the loop is: look up, add, load. It keeps pc, sp and fp in registers; passing their address to
 * the slow path would cost 15 %, hence the copies. Budget: 9 ns a frame (bench/unwind_capture.c).
 *
 * sp grows with every step but one across a signal frame, whose number is bounded: every walk
 * ends. Words are read only where the unwind tables say that the program keeps them. Once a frame
 * without tables was left by its frame pointer, nothing is certain any more, and `limit` keeps
 * every further read inside the mapping of the stack.
 *
 * Some frames are found by another register: the loader's while it binds a function late, by rbx.
 * No step keeps those. A walk that comes to such a frame is done again by a _slow function that
 * does, from its own registers on: 3 us a frame and register.
 */
#include "agent/unwind/x86_64.h"

#include "agent/unwind/module_cache.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/proc_maps.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_find.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/stack_bounds.h"
#include "agent/unwind/unwind.h"
#include "base/bytes.h"
#include "base/compiler.h"

/* Below sp an interrupted leaf function may keep words: the red zone of the ABI. */
#define RED_ZONE 128

/* Handlers that interrupt each other deeper than this are a loop of garbage. */
#define SIGNALS_MAX 64

/* No code is so low: a call through a null pointer, or to a member of one. */
#define NULL_CALL_END 4096

/* The registers besides rsp and rbp that a function hands back as they were: rbx, r12 to r15. */
#define CALLEE_SAVED (1u << 3 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/* More frames than the agent has between a hook and the unwinder. */
#define OWN_FRAMES_MAX 32

/* Registers of the frame that a tracking walk has come to; bit n is DWARF's register n. */
struct registers {
	unsigned wanted; /* which to keep: as few as will do, each costs a look into the tables */
	unsigned known;  /* which of them have a value */
	uint64_t rbx, r12_to_r15[4]; /* in this order: take_registers() */
};

struct walk {
	uint64_t pc, sp, fp; /* in this order: take_registers() */
	uint64_t limit;      /* no read at or above; UINT64_MAX while only tables were followed */
};

/* What a walk across signal frames remembers. Only slow steps look at it. */
struct crossing {
	struct unwind_stack *stack;
	uint64_t context;    /* address of all registers of the frame … */
	uint64_t context_sp; /* … with this sp, 0: none */
	unsigned signals;
	unsigned missing;            /* registers that a frame would have needed */
	struct registers *registers; /* NULL: not tracked */
};

enum step {
	STEP_CALLER,
	STEP_SIGNAL, /* to an interrupted frame */
	STEP_END,
	STEP_BROKEN,
};

/* One of CALLEE_SAVED. */
static uint64_t *register_value(struct registers *registers, uint8_t reg)
{
	return reg == 3 ? &registers->rbx : &registers->r12_to_r15[reg - 12];
}

static uint64_t load(uint64_t address)
{
	return bytes_u64((const void *)address);
}

static bool may_read(const struct walk *walk, uint64_t address)
{
	return address >= walk->sp - RED_ZONE && address <= walk->limit - 8;
}

/* Where the kernel saved DWARF's register n, in bytes from the context. */
static const uint8_t context_offsets[] = {
	[0] = 144, [1] = 136, [2] = 152, [3] = 128, [4] = 112, [5] = 104, [6] = 120, [7] = 160,
	[8] = 40,  [9] = 48,  [10] = 56, [11] = 64, [12] = 72, [13] = 80, [14] = 88, [15] = 96,
};

/* The value of a base register in this frame. False: only sp and fp are known in most. */
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
		*ret = load(crossing->context + context_offsets[base]);
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
	if (place.how == RULE_AT) {
		if (!may_read(walk, value))
			return false;
		value = load(value);
	}
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
		if (!may_read(walk, cfa))
			return false;
		cfa = load(cfa) + (uint64_t)rule->cfa_add;
	}
	*ret = cfa;
	// The interrupted function may run on another stack than its handler.
	return (rule->signal && rule->cfa_deref) || (cfa > walk->sp && cfa <= walk->limit);
}

/* Having left a handler's frame: walk is the interrupted function, its pc as it was. */
static enum step enter_interrupted(struct walk *walk, struct crossing *crossing)
{
	if (++crossing->signals > SIGNALS_MAX)
		return STEP_BROKEN;
	if (walk->limit != UINT64_MAX) {
		walk->limit = stack_bounds_end(crossing->stack, walk->sp, walk->sp);
		if (walk->limit == 0)
			return STEP_BROKEN;
	}
	// Nothing was executed there: its frame is the return address that the call pushed.
	if (walk->pc < NULL_CALL_END) {
		if (!may_read(walk, walk->sp))
			return STEP_BROKEN;
		walk->pc = load(walk->sp);
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
	// A lost fp matters only if a frame further out is based on it. 1 is below every sp, and
	// unlike 0 no sign of the outermost frame.
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

/* Code without tables: JIT compilers and assembly keep frame pointers, or have cleared fp. */
static enum step step_by_frame_pointer(struct walk *walk, struct crossing *crossing)
{
	uint64_t end, fp = walk->fp;

	if (fp == 0)
		return STEP_END;
	if (fp < walk->sp || fp % 8 != 0)
		return STEP_BROKEN;
	end = stack_bounds_end(crossing->stack, walk->sp, fp);
	if (end < 16 || fp > end - 16)
		return STEP_BROKEN;
	walk->limit = end;
	walk->fp = load(fp);
	walk->pc = load(fp + 8);
	walk->sp = fp + 16;
	return walk->pc == 0 ? STEP_END : STEP_CALLER;
}

static never_inline enum step step_slow(struct walk *walk, struct crossing *crossing,
					unsigned packed)
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

static inline __attribute__((always_inline)) enum step step(struct walk *walk,
							    struct crossing *crossing)
{
	unsigned rule = rule_table_find(
		atomic_load_explicit(&rule_table_current, memory_order_acquire), walk->pc);
	uint64_t cfa;
	unsigned slot;

	if (unlikely(rule < RULE_PLAIN)) {
		struct walk copy = *walk;
		enum step result = step_slow(&copy, crossing, rule);

		*walk = copy;
		return result;
	}
	cfa = (rule & RULE_BASE_SP ? walk->sp : walk->fp) + (rule & RULE_OFFSET_MASK) * 8;
	if (unlikely(cfa <= walk->sp || cfa > walk->limit))
		return STEP_BROKEN;
	slot = rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;
	if (slot != 0)
		walk->fp = load(cfa - slot * 8);
	walk->pc = load(cfa - 8);
	walk->sp = cfa;
	return unlikely(walk->pc == 0) ? STEP_END : STEP_CALLER;
}

/* The value of a tracked register in the frame that callee was left to, as `result` says. */
static bool tracked_value(const struct walk *callee, struct crossing *crossing, enum step result,
			  uint8_t reg, uint64_t cfa, uint64_t *ret)
{
	struct rule_place place;
	int32_t offset;

	if (result == STEP_SIGNAL && crossing->context_sp != 0) {
		*ret = load(crossing->context + context_offsets[reg]);
		return true;
	}
	rule_find_register_slow(callee->pc, reg, &place, &offset);
	if (place.how == RULE_LOST)
		return false;
	if (place.how == RULE_SAME)
		place = (struct rule_place){.how = RULE_VALUE, .base = reg};
	return place_value(callee, crossing, place, offset, cfa, ret);
}

static never_inline enum step step_tracking_slow(struct walk *walk, struct crossing *crossing)
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

/* Our own registers, as they are at one instruction of the function that this becomes part of. */
static inline __attribute__((always_inline)) void take_registers(struct walk *walk,
								 struct registers *registers)
{
	uint64_t *values = &registers->rbx;

	__asm__ volatile("lea 0f(%%rip), %%rax\n"
			 "0:\tmov %%rax, (%0)\n"
			 "\tmov %%rsp, 8(%0)\n"
			 "\tmov %%rbp, 16(%0)\n"
			 "\tmov %%rbx, (%1)\n"
			 "\tmov %%r12, 8(%1)\n"
			 "\tmov %%r13, 16(%1)\n"
			 "\tmov %%r14, 24(%1)\n"
			 "\tmov %%r15, 32(%1)"
			 :
			 : "r"(walk), "r"(values)
			 : "rax", "memory");
	// Not a return address: one further, like that of a frame that was interrupted.
	walk->pc++; // NOLINT(clang-analyzer-core.uninitialized.Assign): stored in asm
	walk->limit = UINT64_MAX;
	registers->known = registers->wanted;
}

/*
 * Makes crossing that of a walk from state on which also tracks what the last one was missing:
 * steps from here out through the agent's own frames, until state itself is reached. False:
 * nothing more can be known, since all was tracked or state is not on this stack.
 */
static inline __attribute__((always_inline)) bool track_missing(const struct unwind_state *state,
								struct crossing *crossing,
								struct registers *registers)
{
	unsigned missing = crossing->missing & CALLEE_SAVED & ~registers->wanted;
	struct walk walk;

	if (missing == 0)
		return false;
	registers->wanted |= missing;
	*crossing = (struct crossing){.stack = crossing->stack, .registers = registers};
	take_registers(&walk, registers);
	for (unsigned i = 0; i < OWN_FRAMES_MAX; i++) {
		if (step_tracking_slow(&walk, crossing) != STEP_CALLER || walk.sp > state->sp)
			return false;
		if (walk.sp == state->sp)
			return walk.pc == state->pc && walk.fp == state->fp;
	}
	return false;
}

static inline __attribute__((always_inline)) enum unwind_end
capture(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t *pcs,
	size_t room, size_t *count)
{
	struct walk walk = {state->pc, state->sp, state->fp, UINT64_MAX};

	for (size_t n = 0; n < room;) {
		enum step result;

		pcs[n++] = walk.pc;
		result = tracking ? step_tracking_slow(&walk, crossing) : step(&walk, crossing);
		if (unlikely(result >= STEP_END)) {
			*count = n;
			return result == STEP_END ? UNWIND_COMPLETE : UNWIND_BROKEN;
		}
	}
	*count = room;
	return UNWIND_TRUNCATED;
}

static never_inline enum unwind_end capture_slow(const struct unwind_state *state,
						 struct crossing *crossing, uint64_t *pcs,
						 size_t room, size_t *count)
{
	struct registers registers = {0};
	enum unwind_end end = UNWIND_BROKEN;

	while (end == UNWIND_BROKEN && track_missing(state, crossing, &registers))
		end = capture(state, crossing, true, pcs, room, count);
	return end;
}

enum unwind_end unwind_capture(const struct unwind_state *state, struct unwind_stack *stack,
			       uint64_t *pcs, size_t room, size_t *count)
{
	struct crossing crossing = {.stack = stack};
	enum unwind_end end = capture(state, &crossing, false, pcs, room, count);

	if (unlikely(end == UNWIND_BROKEN && crossing.missing != 0))
		end = capture_slow(state, &crossing, pcs, room, count);
	return end;
}

/* See struct unwind_host. Set once, before any walk. */
static uint64_t hooks_start, hooks_size = UINT64_MAX;

static bool is_hook(uint64_t pc)
{
	return pc - 1 - hooks_start < hooks_size;
}

static inline __attribute__((always_inline)) enum unwind_nesting
find_frame(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t sp)
{
	struct walk walk = {state->pc, state->sp, state->fp, UINT64_MAX};

	for (;;) {
		uint64_t inner = walk.sp, pc = walk.pc;
		enum step result =
			tracking ? step_tracking_slow(&walk, crossing) : step(&walk, crossing);

		if (result >= STEP_END)
			return UNWIND_NOT_FOUND;
		// Frames of one stack leave no gaps; across a signal frame it may be another stack.
		if (result == STEP_SIGNAL)
			continue;
		if (inner < sp && sp < walk.sp)
			return UNWIND_NOT_FOUND;
		if (walk.sp != sp)
			continue;
		if (!is_hook(pc))
			return UNWIND_NOT_FOUND;
		return crossing->signals == 0 ? UNWIND_FOUND : UNWIND_FOUND_ACROSS_SIGNAL;
	}
}

static never_inline enum unwind_nesting find_frame_slow(const struct unwind_state *state,
							struct crossing *crossing, uint64_t sp)
{
	struct registers registers = {0};
	enum unwind_nesting nesting = UNWIND_NOT_FOUND;

	while (nesting == UNWIND_NOT_FOUND && track_missing(state, crossing, &registers))
		nesting = find_frame(state, crossing, true, sp);
	return nesting;
}

enum unwind_nesting unwind_find_frame(const struct unwind_state *state, struct unwind_stack *stack,
				      uint64_t sp)
{
	struct crossing crossing = {.stack = stack};
	enum unwind_nesting nesting = find_frame(state, &crossing, false, sp);

	if (unlikely(nesting == UNWIND_NOT_FOUND && crossing.missing != 0))
		nesting = find_frame_slow(state, &crossing, sp);
	return nesting;
}

void unwind_init(const struct unwind_host *host)
{
	module_find_init(host->dl_find_object);
	if (host->hooks_end != 0) {
		hooks_start = host->hooks_start;
		hooks_size = host->hooks_end - host->hooks_start;
	}
	rule_table_init(host->allocate);
}

uint32_t unwind_frame_id(uint64_t pc)
{
	return rule_table_id(pc);
}

uint32_t unwind_set_frame_id(uint64_t pc, uint32_t id)
{
	return rule_table_set_id(pc, id);
}

void unwind_forget(uint64_t start, uint64_t end)
{
	module_cache_forget(start, end);
	rule_table_forget(start, end);
}

void unwind_forget_ids(void)
{
	rule_after_fork();
	module_cache_after_fork();
	rule_table_after_fork();
}

void unwind_forbid_system_calls(bool forbidden)
{
	proc_maps_forbid(forbidden);
}

size_t unwind_memory(void)
{
	return rule_table_memory();
}
