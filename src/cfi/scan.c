#include "cfi/scan.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "cfi/abi.h"

#include CFI_FILE(scan_cpu.h)

/* --- what is known while running --- */

enum known { UNKNOWN, CFA_PLUS, RETURN_ADDRESS, CALLERS_FP, CONSTANT };

struct value {
	uint8_t known;
	int32_t value;
};

struct machine {
	struct value registers[32];
	int32_t ra_slot, fp_slot; /* bytes from the CFA */
	uint8_t guess;
};

enum { WORD = sizeof(void *), PASSES = 4, DEEPEST = 1 << 24 };

/* How the scan came to an instruction: from the one before, by a branch. */
enum { BY_FLOW = 1, BY_BRANCH = 2 };

static void enter(struct machine *machine)
{
	*machine = (struct machine){.guess = SCAN_SURE};
	machine->registers[0].known = CONSTANT;
	machine->registers[ARCH_DWARF_SP].known = CFA_PLUS;
	machine->registers[ARCH_DWARF_FP].known = CALLERS_FP;
	machine->registers[ARCH_DWARF_PC].known = RETURN_ADDRESS;
}

static int16_t slot_of(int32_t offset)
{
	return offset >= INT16_MIN * WORD ? (int16_t)(offset / WORD) : 0;
}

static struct scan_state state_of(const struct machine *machine)
{
	const struct value *sp = &machine->registers[ARCH_DWARF_SP];
	const struct value *fp = &machine->registers[ARCH_DWARF_FP];
	struct scan_state state = {.guess = machine->guess,
				   .ra_slot = slot_of(machine->ra_slot),
				   .fp_slot = slot_of(machine->fp_slot)};

	if (sp->known == CFA_PLUS) {
		state.sp = sp->value;
		state.flags |= SCAN_SP;
	}
	if (fp->known == CFA_PLUS) {
		state.fp = fp->value;
		state.flags |= SCAN_FP;
	} else if (fp->known == CALLERS_FP) {
		state.flags |= SCAN_CALLERS_FP;
	}
	if (machine->registers[ARCH_DWARF_PC].known == RETURN_ADDRESS)
		state.flags |= SCAN_RA_IN_REGISTER;
	return state;
}

static void take(struct machine *machine, const struct scan_state *state)
{
	*machine = (struct machine){.guess = state->guess,
				    .ra_slot = state->ra_slot * WORD,
				    .fp_slot = state->fp_slot * WORD};
	machine->registers[0].known = CONSTANT;
	if (state->flags & SCAN_SP)
		machine->registers[ARCH_DWARF_SP] = (struct value){CFA_PLUS, state->sp};
	if (state->flags & SCAN_FP)
		machine->registers[ARCH_DWARF_FP] = (struct value){CFA_PLUS, state->fp};
	else if (state->flags & SCAN_CALLERS_FP)
		machine->registers[ARCH_DWARF_FP].known = CALLERS_FP;
	if (state->flags & SCAN_RA_IN_REGISTER)
		machine->registers[ARCH_DWARF_PC].known = RETURN_ADDRESS;
}

/*
 * What holds on both ways into an instruction. Where sp differs the first way counts, but for
 * alloca(): the other one then has a frame pointer. Returns whether `state` is another one now.
 */
static bool meet(struct scan_state *state, const struct scan_state *other)
{
	struct scan_state before = *state;

	if ((state->flags ^ other->flags) & (SCAN_FP | SCAN_CALLERS_FP) ||
	    (state->flags & SCAN_FP && state->fp != other->fp))
		state->flags &= (uint8_t) ~(SCAN_FP | SCAN_CALLERS_FP);
	if (!(other->flags & SCAN_SP) && other->flags & SCAN_FP)
		state->flags &= (uint8_t)~SCAN_SP;
	return state->flags != before.flags;
}

/* --- one instruction --- */

static struct value sum(struct value a, struct value b)
{
	if (a.known == CONSTANT && b.known != CONSTANT) {
		struct value swapped = a;

		a = b;
		b = swapped;
	}
	if (b.known != CONSTANT)
		return (struct value){0};
	if (a.known == CFA_PLUS || a.known == CONSTANT)
		a.value = (int32_t)((uint32_t)a.value + (uint32_t)b.value);
	else if (b.value)
		a.known = UNKNOWN;
	return a;
}

static struct value less(struct value a, struct value b)
{
	if (b.known != CONSTANT || b.value == INT32_MIN)
		return (struct value){0};
	b.value = -b.value;
	return sum(a, b);
}

static struct value either(struct value a, struct value b)
{
	if (a.known != CONSTANT || b.known != CONSTANT)
		return (struct value){0};
	a.value |= b.value;
	return a;
}

/* What lies below sp is gone. */
static void drop_slots(struct machine *machine)
{
	const struct value *sp = &machine->registers[ARCH_DWARF_SP];

	if (sp->known != CFA_PLUS)
		return;
	if (machine->ra_slot < sp->value)
		machine->ra_slot = 0;
	if (machine->fp_slot < sp->value)
		machine->fp_slot = 0;
}

static void store(struct machine *machine, int32_t offset, struct value value)
{
	if (offset >= 0)
		return;
	// The first place counts: varargs functions and others write the same values again.
	if (value.known == RETURN_ADDRESS && (!machine->ra_slot || machine->ra_slot == offset))
		machine->ra_slot = offset;
	else if (value.known == CALLERS_FP && !machine->fp_slot)
		machine->fp_slot = offset;
	else if (value.known != RETURN_ADDRESS && machine->ra_slot == offset)
		machine->ra_slot = 0;
	else if (value.known != CALLERS_FP && machine->fp_slot == offset)
		machine->fp_slot = 0;
}

static struct value load(const struct machine *machine, int32_t offset)
{
	if (offset >= 0)
		return (struct value){0};
	if (offset == machine->ra_slot)
		return (struct value){.known = RETURN_ADDRESS};
	if (offset == machine->fp_slot)
		return (struct value){.known = CALLERS_FP};
	return (struct value){0};
}

static void execute(struct machine *machine, const struct scan_op *op)
{
	struct value a = machine->registers[op->a], b = machine->registers[op->b], result = {0};
	struct value constant = {CONSTANT, op->value};
	int32_t place = (int32_t)((uint32_t)a.value + (uint32_t)op->value);

	switch (op->what) {
	case SCAN_CONSTANT:
		result = constant;
		break;
	case SCAN_PLUS:
		result = sum(a, constant);
		break;
	case SCAN_SUM:
		result = sum(a, b);
		break;
	case SCAN_LESS:
		result = less(a, b);
		break;
	case SCAN_OR:
		result = op->b == 0 ? a : op->a == 0 ? b : either(a, b);
		break;
	case SCAN_OR_VALUE:
		result = either(a, constant);
		break;
	case SCAN_SHIFT:
		if (a.known == CONSTANT)
			result =
				(struct value){CONSTANT, (int32_t)((uint32_t)a.value << op->value)};
		break;
	case SCAN_STORE:
		if (a.known == CFA_PLUS)
			store(machine, place, b);
		break;
	case SCAN_LOAD:
		if (a.known == CFA_PLUS)
			result = load(machine, place);
		break;
	}
	if (!op->to)
		return;
	machine->registers[op->to] = result;
	if (op->to == ARCH_DWARF_SP)
		drop_slots(machine);
}

static void forget_after_call(struct machine *machine)
{
	for (unsigned i = 0; i < ARRAY_COUNT(machine->registers); i++) {
		if (!(SCAN_KEPT >> i & 1))
			machine->registers[i].known = UNKNOWN;
	}
}

/* --- where functions begin --- */

#define LOOK_AHEAD 64 /* instructions, for what a function begins with */
#define SAVED_SOON 28 /* behind the one that makes room for a frame */

struct scan {
	const struct scan_code *code;
	struct scan_state *states;
	struct machine machine, body;
	int32_t deepest;
	bool reached; /* the instruction before leads on */
	bool after;   /* behind a call or a jump: a function may end there */
	bool again;   /* a loop has changed what is known at its start */
};

static uint64_t address_of(const struct scan *scan, size_t i)
{
	return scan->code->address + i * 4;
}

static uint32_t word_at(const struct scan *scan, size_t i)
{
	return bytes_load(uint32_t, scan->code->bytes + i * 4);
}

static bool is_inside(const struct scan *scan, uint64_t address)
{
	return address - scan->code->address < scan->code->count * 4;
}

static struct scan_op op_at(const struct scan *scan, size_t i)
{
	struct scan_op op;

	scan_decode(word_at(scan, i), address_of(scan, i), &op);
	return op;
}

static bool moves_sp(const struct scan_op *op)
{
	return op->what == SCAN_PLUS && op->to == ARCH_DWARF_SP && op->a == ARCH_DWARF_SP;
}

/* Whether registers are saved soon behind the instruction that made room for them. */
static bool saves_registers(const struct scan *scan, size_t i)
{
	for (size_t end = i + SAVED_SOON; i < end && i < scan->code->count; i++) {
		struct scan_op op = op_at(scan, i);

		if (op.what == SCAN_STORE && op.a == ARCH_DWARF_SP && SCAN_SAVED >> op.b & 1)
			return true;
		if (op.flow == SCAN_CALL)
			return false;
	}
	return false;
}

enum sign { NO, YES, PERHAPS };

/* Whether the instruction is one that no function has before it has made its frame. */
static bool is_of_a_body(const struct scan_op *op, uint32_t written)
{
	return (op->what == SCAN_STORE && op->a == ARCH_DWARF_SP) ||
	       op->reads & SCAN_NOT_ARGUMENTS & ~written ||
	       (op->memory && op->a == ARCH_DWARF_SP) || op->flow == SCAN_CALL;
}

/* Whether the function that may begin at `first` leaves by this jump. */
static enum sign sign_of_leaving(const struct scan *scan, size_t first, size_t i,
				 const struct scan_op *op, uint32_t written, bool strict)
{
	uint64_t start = address_of(scan, first);
	struct scan_op delay;

	if (op->flow == SCAN_JUMP)
		return !strict && op->target > start && is_inside(scan, op->target) ? YES : NO;
	if (strict && op->flow == SCAN_LEAVE)
		return NO;
	if (i + 1 == scan->code->count)
		return YES;
	delay = op_at(scan, i + 1);
	return delay.reads & SCAN_NOT_ARGUMENTS & ~written || moves_sp(&delay) ? NO : YES;
}

/*
 * Whether a function begins at an instruction that no branch leads to: the code makes a frame, or
 * returns, before it reads what only its own prologue can have written. strict: behind a call,
 * which mostly returns.
 */
static enum sign begins(const struct scan *scan, size_t first, bool strict)
{
	uint32_t written = 1;

	for (size_t i = first; i < first + LOOK_AHEAD && i < scan->code->count; i++) {
		struct scan_op op = op_at(scan, i);

		if (word_at(scan, i) == 0)
			continue;
		if (moves_sp(&op)) {
			if (op.value >= 0)
				return NO;
			return !strict || saves_registers(scan, i + 1) ? YES : NO;
		}
		if (is_of_a_body(&op, written))
			return NO;
		if (op.what == SCAN_SUM && op.reads & ~written & 1u << SCAN_FUNCTION)
			return YES;
		if (op.flow >= SCAN_JUMP)
			return sign_of_leaving(scan, first, i, &op, written, strict);
		if (op.flow != SCAN_NEXT && op.target < address_of(scan, first))
			return NO;
		if (op.to)
			written |= 1u << op.to;
	}
	return PERHAPS;
}

/* --- the run --- */

/* Whether it is filling between functions. */
static bool is_filling(const struct scan *scan, size_t i)
{
	return word_at(scan, i) == 0 && address_of(scan, i) % SCAN_ALIGNMENT != 0;
}

static void begin_function(struct scan *scan, uint8_t guess)
{
	enter(&scan->machine);
	scan->body = scan->machine;
	scan->machine.guess = guess;
	scan->deepest = 0;
	scan->reached = true;
}

static void take_body(struct scan *scan)
{
	scan->machine = scan->body;
	scan->machine.guess = SCAN_OF_BODY;
}

/* Comes to an instruction. false: nothing is executed there. */
static bool arrive(struct scan *scan, size_t i)
{
	struct scan_state *state = &scan->states[i];
	const struct value *sp = &scan->machine.registers[ARCH_DWARF_SP];
	bool open = scan->code->open;

	if (state->met & BY_BRANCH) {
		struct scan_state here = state_of(&scan->machine);

		if (scan->reached && !here.guess && !state->guess)
			meet(state, &here);
		take(&scan->machine, state);
		scan->reached = true;
		return true;
	}
	if (!scan->reached) {
		if (open && is_filling(scan, i)) {
			take_body(scan);
			return false;
		}
		if (open && begins(scan, i, false) != NO) {
			begin_function(scan, SCAN_BEGUN);
		} else {
			take_body(scan);
			scan->reached = true;
		}
	} else if (open && scan->after && (sp->known != CFA_PLUS || sp->value < 0)) {
		if (is_filling(scan, i))
			return false;
		if (address_of(scan, i) % SCAN_ALIGNMENT == 0 && begins(scan, i, true) == YES)
			begin_function(scan, SCAN_BEGUN);
	}
	return true;
}

/* Keeps what is known before an instruction, and the deepest frame so far: the function's body. */
static void keep(struct scan *scan, size_t i)
{
	struct scan_state *state = &scan->states[i];
	uint8_t met = state->met;
	const struct machine *machine = &scan->machine;
	const struct value *sp = &machine->registers[ARCH_DWARF_SP];
	int32_t depth = sp->known != CFA_PLUS || sp->value < -DEEPEST ? DEEPEST
			: sp->value < 0                               ? -sp->value
								      : 0;

	*state = state_of(machine);
	state->met = met | BY_FLOW;
	depth = depth * 8 + (machine->ra_slot ? 4 : 0) + (machine->fp_slot ? 2 : 0) +
		(machine->registers[ARCH_DWARF_FP].known == CFA_PLUS);
	if (depth > scan->deepest && machine->guess != SCAN_OF_BODY) {
		scan->deepest = depth;
		scan->body = *machine;
	}
}

/* Hands the state on to the target of a branch at i. */
static void hand_on(struct scan *scan, size_t i, uint64_t target)
{
	struct scan_state here = state_of(&scan->machine), *there;
	size_t at = (target - scan->code->address) / 4;

	if (!is_inside(scan, target) || target % 4 != 0)
		return;
	there = &scan->states[at];
	if (!(there->met & BY_BRANCH) || (there->guess && !here.guess)) {
		// A loop's start, as it was passed: nobody had branched there yet.
		if (at <= i && there->met && !(there->guess && !here.guess)) {
			if (!here.guess && meet(there, &here)) {
				there->met |= BY_BRANCH;
				scan->again = true;
			}
			return;
		}
		if (at <= i) {
			if (here.guess)
				return;
			scan->again = true;
		}
		here.met = there->met | BY_BRANCH;
		*there = here;
	} else if (!here.guess && !there->guess && meet(there, &here) && at <= i) {
		scan->again = true;
	}
}

/* A jump out of the function, without a frame: what follows is not reached by it. */
static bool leaves(const struct scan *scan, const struct scan_op *op)
{
	const struct value *sp = &scan->machine.registers[ARCH_DWARF_SP];
	bool gone = sp->known == CFA_PLUS && sp->value == 0 && scan->deepest > 0;

	if (op->flow == SCAN_JUMP)
		return gone && (scan->code->open || !is_inside(scan, op->target));
	return op->flow == SCAN_RETURN || (op->flow == SCAN_LEAVE && gone);
}

/* Executes the instruction in the delay slot of a call or jump at i. Returns its number. */
static size_t execute_delayed(struct scan *scan, size_t i)
{
	struct scan_op op;

	if (i + 1 >= scan->code->count)
		return i;
	op = op_at(scan, i + 1);
	keep(scan, i + 1);
	execute(&scan->machine, &op);
	return i + 1;
}

static void pass(struct scan *scan)
{
	begin_function(scan, SCAN_SURE);
	scan->after = false;
	scan->again = false;
	for (size_t i = 0; i < scan->code->count; i++) {
		struct scan_op op = op_at(scan, i);
		struct machine before;

		bool executed = arrive(scan, i);

		scan->after = false;
		keep(scan, i);
		if (!executed) {
			scan->after = scan->reached;
			continue;
		}
		if (op.flow == SCAN_NEXT) {
			execute(&scan->machine, &op);
			continue;
		}
		if (op.flow == SCAN_LIKELY)
			before = scan->machine;
		i = execute_delayed(scan, i);
		scan->after = op.flow == SCAN_CALL || op.flow == SCAN_JUMP || op.flow == SCAN_LEAVE;
		if (op.flow == SCAN_CALL) {
			forget_after_call(&scan->machine);
			// What a walk asks for: the state when it returns.
			keep(scan, i);
			continue;
		}
		if (op.flow == SCAN_BRANCH || op.flow == SCAN_LIKELY || op.flow == SCAN_JUMP)
			hand_on(scan, i, op.target);
		if (op.flow == SCAN_LIKELY)
			scan->machine = before;
		if (leaves(scan, &op))
			scan->reached = false;
	}
}

/* Where no function's start is known, reading begins so many instructions before. */
#define READ_BACK 40000

bool scan_place(const struct scan_text *text, uint64_t address, struct scan_code *ret)
{
	uint64_t start, end;
	bool named;

	scan_find_starts(text, address, &start, &end);
	named = start != 0;
	if (!named)
		start = address - text->address > READ_BACK * 4 ? address - READ_BACK * 4
								: text->address;
	*ret = (struct scan_code){
		.bytes = text->bytes + (start - text->address),
		.address = start,
		.count = (end - start) / 4,
		.open = true,
	};
	return named;
}

void scan_run(const struct scan_code *code, struct scan_state *states)
{
	struct scan scan = {.code = code, .states = states};

	for (size_t i = 0; i < code->count; i++)
		states[i] = (struct scan_state){0};
	for (unsigned i = 0; i < PASSES; i++) {
		pass(&scan);
		if (!scan.again)
			break;
	}
}

bool scan_rule(const struct scan_state *state, struct unwind_rule *ret)
{
	bool by_fp = state->flags & SCAN_FP;

	if (!(state->flags & (SCAN_SP | SCAN_FP)))
		return false;
	*ret = (struct unwind_rule){
		.kind = RULE_STEP,
		.cfa_base = by_fp ? ARCH_DWARF_FP : ARCH_DWARF_SP,
		.cfa_offset = by_fp ? -state->fp : -state->sp,
	};
	if (state->ra_slot) {
		ret->ra = (struct rule_place){RULE_AT, RULE_BASE_CFA};
		ret->ra_offset = state->ra_slot * WORD;
	} else if (state->flags & SCAN_RA_IN_REGISTER) {
		ret->ra = (struct rule_place){RULE_VALUE, ARCH_DWARF_PC};
	} else {
		return false;
	}
	if (state->fp_slot) {
		ret->fp = (struct rule_place){RULE_AT, RULE_BASE_CFA};
		ret->fp_offset = state->fp_slot * WORD;
	}
	return true;
}
