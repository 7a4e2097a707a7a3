#include "cfi/scan.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "cfi/abi.h"

#include CFI_FILE(scan_cpu.h)

/* --- what is known while running --- */

/* ENTRY: what the register of that number, of enum scan_saved, had when the function began. */
enum known { UNKNOWN, CFA_PLUS, ENTRY, CONSTANT };

struct value {
	uint8_t known;
	int32_t value;
};

struct machine {
	uint32_t known; /* a bit for each register that has a value */
	struct value registers[32];
	int32_t slots[SCAN_SAVED_MAX]; /* bytes from the CFA */
	uint8_t guess;
	bool changed; /* something that states tell */
};

enum { WORD = ARCH_WORD, PASSES = 4, DEEPEST = 1 << 24 };

/* How the scan came to an instruction: from the one before, by a branch. Or it is none; or it is
 * another function's first. */
enum { BY_FLOW = 1, BY_BRANCH = 2, DATA = 4, BEGINS = 8 };

static const uint8_t saved_registers[] = SCAN_STATE_REGISTERS;

/* The registers that states tell of. */
#define TOLD (1u << ARCH_DWARF_SP | 1u << ARCH_DWARF_FP | 1u << SCAN_FP2 | 1u << ARCH_DWARF_PC)

struct scan {
	const struct scan_code *code;
	struct scan_state *states;
	struct machine machine, body;
	struct scan_state now; /* of machine, unless that has changed */
	struct machine before; /* where what depends on a condition is not executed */
	int32_t deepest;
	uint32_t bound;   /* of the last comparison: so many entries a table has */
	uint64_t table;   /* the last address that was made */
	uint8_t frame;    /* the register that frames are made by */
	uint8_t block;    /* so many instructions more depend on a condition */
	bool conditional; /* the last one did */
	bool reached;     /* the instruction before leads on */
	bool after;       /* behind a call or a jump: a function may end there */
	bool again;       /* a loop has changed what is known at its start */
};

static struct value get(const struct machine *machine, unsigned reg)
{
	return machine->known >> reg & 1 ? machine->registers[reg] : (struct value){0};
}

static void set(struct machine *machine, unsigned reg, struct value value)
{
	uint32_t bit = 1u << reg;

	machine->registers[reg] = value;
	machine->known = value.known ? machine->known | bit : machine->known & ~bit;
	machine->changed |= (TOLD & bit) != 0;
}

static void clear(struct machine *machine, uint8_t guess)
{
	machine->known = 0;
	machine->guess = guess;
	set(machine, SCAN_ZERO, (struct value){CONSTANT, 0});
	machine->changed = true;
}

static void enter(struct machine *machine, uint8_t guess)
{
	clear(machine, guess);
	set(machine, ARCH_DWARF_SP, (struct value){CFA_PLUS, 0});
	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers); i++) {
		machine->slots[i] = 0;
		set(machine, saved_registers[i], (struct value){ENTRY, (int32_t)i});
	}
}

static int16_t slot_of(int32_t offset)
{
	return offset >= INT16_MIN * WORD ? (int16_t)(offset / WORD) : 0;
}

static struct scan_state state_of(const struct machine *machine, uint8_t frame)
{
	struct value sp = get(machine, ARCH_DWARF_SP), fp = get(machine, frame);
	struct scan_state state = {.guess = machine->guess & 15};

	if (sp.known == CFA_PLUS) {
		state.sp = sp.value;
		state.flags |= SCAN_SP;
	}
	if (fp.known == CFA_PLUS) {
		state.fp = fp.value;
		state.flags |= frame == ARCH_DWARF_FP ? SCAN_FP : SCAN_FP | SCAN_BY_FP2;
	}
	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers); i++) {
		struct value saved = get(machine, saved_registers[i]);

		state.slots[i] = slot_of(machine->slots[i]);
		if (saved.known == ENTRY && saved.value == (int32_t)i)
			state.flags |= (uint8_t)(SCAN_RA_IN_REGISTER << i);
	}
	return state;
}

static never_inline void renew(struct scan *scan)
{
	scan->now = state_of(&scan->machine, scan->frame);
	scan->machine.changed = false;
}

/* The state of the machine. */
static inline const struct scan_state *now(struct scan *scan)
{
	if (unlikely(scan->machine.changed))
		renew(scan);
	return &scan->now;
}

static void take(struct scan *scan, const struct scan_state *state)
{
	struct machine *machine = &scan->machine;

	clear(machine, state->guess);
	if (state->flags & SCAN_SP)
		set(machine, ARCH_DWARF_SP, (struct value){CFA_PLUS, state->sp});
	if (state->flags & SCAN_FP)
		set(machine, scan->frame, (struct value){CFA_PLUS, state->fp});
	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers); i++) {
		machine->slots[i] = state->slots[i] * WORD;
		if (state->flags & SCAN_RA_IN_REGISTER << i)
			set(machine, saved_registers[i], (struct value){ENTRY, (int32_t)i});
	}
}

/*
 * What holds on both ways into an instruction. Where sp differs the first way counts, but for
 * alloca(): the other one then has a frame pointer. Returns whether `state` is another one now.
 */
static bool meet(struct scan_state *state, const struct scan_state *other)
{
	uint8_t before = state->flags;
	uint8_t lost = (state->flags ^ other->flags) &
		       (SCAN_FP | SCAN_BY_FP2 | SCAN_CALLERS_FP | SCAN_CALLERS_FP2);

	if (state->flags & SCAN_FP && state->fp != other->fp)
		lost |= SCAN_FP | SCAN_BY_FP2;
	if (!(other->flags & SCAN_SP) && other->flags & SCAN_FP)
		lost |= SCAN_SP;
	state->flags &= (uint8_t)~lost;
	return state->flags != before;
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
	struct value sp = get(machine, ARCH_DWARF_SP);

	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers) && sp.known == CFA_PLUS; i++) {
		if (machine->slots[i] < sp.value)
			machine->slots[i] = 0;
	}
}

static void store(struct machine *machine, int32_t offset, struct value value)
{
	if (offset >= 0)
		return;
	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers); i++) {
		int32_t *slot = &machine->slots[i];

		// The first place counts: varargs functions and others write the same values again.
		if (value.known == ENTRY && value.value == (int32_t)i) {
			if (!*slot)
				*slot = offset;
		} else if (*slot == offset) {
			*slot = 0;
		}
	}
	machine->changed = true;
}

static struct value load(const struct machine *machine, int32_t offset)
{
	for (unsigned i = 0; i < ARRAY_COUNT(saved_registers) && offset < 0; i++) {
		if (offset == machine->slots[i])
			return (struct value){ENTRY, (int32_t)i};
	}
	return (struct value){0};
}

static int32_t add(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

static void set_register(struct machine *machine, unsigned reg, struct value value)
{
	set(machine, reg, value);
	if (reg == ARCH_DWARF_SP)
		drop_slots(machine);
}

/* Stores or loads several registers. Room on the stack is made first, and given back last. */
static void execute_list(struct machine *machine, const struct scan_op *op)
{
	struct value base = get(machine, op->a), moved = base;
	bool loads = op->what == SCAN_LOAD_LIST;
	int32_t place = add(base.value, op->value);

	if (moved.known == CFA_PLUS)
		moved.value = add(moved.value, op->back);
	else if (op->back)
		moved = (struct value){0};
	if (!loads)
		set_register(machine, op->a, moved);
	for (uint32_t list = op->list; list; list &= list - 1, place = add(place, WORD)) {
		unsigned reg = (unsigned)__builtin_ctz(list);

		if (loads)
			set(machine, reg,
			    base.known == CFA_PLUS ? load(machine, place) : (struct value){0});
		else if (base.known == CFA_PLUS)
			store(machine, place, get(machine, reg));
	}
	if (loads && !(op->list >> op->a & 1))
		set_register(machine, op->a, moved);
}

/* The word of the code at an address. */
static struct value literal(const struct scan *scan, const struct scan_op *op)
{
	uint64_t offset = op->target - scan->code->address, size = scan->code->count * SCAN_UNIT;

	if (op->value != WORD || offset >= size || size - offset < WORD)
		return (struct value){0};
	return (struct value){CONSTANT, bytes_load(int32_t, scan->code->bytes + offset)};
}

static void mark_data(struct scan *scan, size_t i, uint64_t address, uint64_t size)
{
	size_t first = (address - scan->code->address) / SCAN_UNIT;

	// Garbage marks what it takes for data, too: at least not what was executed.
	if (scan->machine.guess == SCAN_OF_BODY || address < scan->code->address)
		return;
	for (size_t at = first; at < first + size / SCAN_UNIT && at < scan->code->count; at++) {
		if (at > i || !scan->states[at].met)
			scan->states[at].met |= DATA;
	}
}

/* The value that an instruction gives to its register. */
static struct value compute(struct scan *scan, size_t i, const struct scan_op *op)
{
	struct machine *machine = &scan->machine;
	struct value a = get(machine, op->a), b, constant = {CONSTANT, op->value};

	switch (op->what) {
	case SCAN_CONSTANT:
		return constant;
	case SCAN_PLUS:
		return sum(a, constant);
	case SCAN_SUM:
		return sum(a, get(machine, op->b));
	case SCAN_LESS:
		return less(a, get(machine, op->b));
	case SCAN_OR:
		b = get(machine, op->b);
		return op->b == SCAN_ZERO ? a : op->a == SCAN_ZERO ? b : either(a, b);
	case SCAN_OR_VALUE:
		return either(a, constant);
	case SCAN_SHIFT:
		if (a.known == CONSTANT)
			return (struct value){CONSTANT, (int32_t)((uint32_t)a.value << op->value)};
		break;
	case SCAN_STORE:
		if (a.known == CFA_PLUS)
			store(machine, add(a.value, op->value), get(machine, op->b));
		break;
	case SCAN_LOAD:
		if (a.known == CFA_PLUS)
			return load(machine, add(a.value, op->value));
		break;
	case SCAN_STORE_LIST:
	case SCAN_LOAD_LIST:
		execute_list(machine, op);
		break;
	case SCAN_LITERAL:
		mark_data(scan, i, op->target, (uint64_t)op->value);
		return literal(scan, op);
	case SCAN_ADDRESS:
		scan->table = op->target;
		break;
	case SCAN_COMPARE:
		b = get(machine, op->b);
		if (b.known == CONSTANT)
			scan->bound = (uint32_t)add(b.value, op->value);
		break;
	case SCAN_HIGH:
		if (a.known == CONSTANT)
			return (struct value){CONSTANT, (a.value & 0xffff) | op->value};
		break;
	}
	return (struct value){0};
}

static void execute(struct scan *scan, size_t i, const struct scan_op *op)
{
	struct machine *machine = &scan->machine;
	struct value result = {0};

	if (op->what != SCAN_OTHER)
		result = compute(scan, i, op);
	if (SCAN_CONDITIONS && op->also) {
		machine->known &= ~op->also | op->list;
		machine->changed |= (op->also & TOLD) != 0;
	}
	if (op->to != SCAN_ZERO)
		set_register(machine, op->to, result);
}

/* --- where functions begin --- */

#define LOOK_AHEAD 64 /* instructions, for what a function begins with */
#define SAVED_SOON 28 /* behind the one that makes room for a frame */

static uint64_t address_of(const struct scan_code *code, size_t i)
{
	return code->address + i * SCAN_UNIT;
}

static bool is_inside(const struct scan_code *code, uint64_t address)
{
	return address - code->address < code->count * SCAN_UNIT;
}

/* The instruction at i, or what there is of it. */
static uint32_t word_at(const struct scan_code *code, size_t i)
{
	const uint8_t *at = code->bytes + i * SCAN_UNIT;

	return SCAN_UNIT == 4 || i + 1 < code->count ? bytes_load(uint32_t, at)
						     : bytes_load(uint16_t, at);
}

void scan_op_at(const struct scan_code *code, size_t i, struct scan_op *ret)
{
	scan_decode(word_at(code, i), address_of(code, i) | code->thumb, ret);
}

/* How far it moves sp. */
static int32_t moves_sp(const struct scan_op *op)
{
	if (op->what == SCAN_PLUS && op->to == ARCH_DWARF_SP && op->a == ARCH_DWARF_SP)
		return op->value;
	return (op->what == SCAN_STORE_LIST || op->what == SCAN_LOAD_LIST) && op->a == ARCH_DWARF_SP
		       ? op->back
		       : 0;
}

/* The registers that it stores on the stack. */
static uint32_t stores(const struct scan_op *op)
{
	if (op->a != ARCH_DWARF_SP)
		return 0;
	return op->what == SCAN_STORE ? 1u << op->b : op->what == SCAN_STORE_LIST ? op->list : 0;
}

/* Whether registers are saved soon behind the instruction that made room for them. */
static bool saves_registers(const struct scan_code *code, size_t i)
{
	struct scan_op op;

	for (size_t end = i + SAVED_SOON; i < end && i < code->count; i += op.units) {
		scan_op_at(code, i, &op);
		if (stores(&op) & SCAN_SAVED)
			return true;
		if (op.flow == SCAN_CALL)
			return false;
	}
	return false;
}

/* PERHAPS: nothing speaks against it. LEAVES: it returns, as a function without a frame. */
enum sign { NO, PERHAPS, LEAVES, FRAME };

/* Whether the instruction is one that no function has before it has made its frame. */
static bool is_of_a_body(const struct scan_op *op, uint32_t written)
{
	return op->reads & SCAN_NOT_ARGUMENTS & ~written ||
	       (op->memory && op->a == ARCH_DWARF_SP) || op->flow == SCAN_CALL;
}

/* Whether the function that may begin at the code leaves by this jump. */
static enum sign sign_of_leaving(const struct scan_code *code, size_t i, const struct scan_op *op,
				 uint32_t written, bool strict)
{
	struct scan_op delay;

	if (op->flow == SCAN_JUMP)
		return !strict && SCAN_MAY_BEGIN_WITH_JUMP(code, op->target) ? LEAVES : NO;
	if ((strict && op->flow == SCAN_LEAVE) || op->flow == SCAN_TABLE)
		return NO;
	if (!SCAN_DELAY || i + 1 == code->count)
		return LEAVES;
	scan_op_at(code, i + 1, &delay);
	return delay.reads & SCAN_NOT_ARGUMENTS & ~written || moves_sp(&delay) ? NO : LEAVES;
}

/*
 * Whether a function begins at an instruction that no branch leads to: the code makes a frame, or
 * returns, before it reads what only its own prologue can have written. strict: behind a call,
 * which mostly returns.
 */
static enum sign begins(const struct scan_code *code, bool strict)
{
	uint32_t written = 1u << SCAN_ZERO;
	unsigned block = 0;
	struct scan_op op;

	for (size_t i = 0; i < LOOK_AHEAD && i < code->count; i += op.units) {
		scan_op_at(code, i, &op);
		if (moves_sp(&op)) {
			if (moves_sp(&op) > 0)
				return NO;
			return !strict || stores(&op) >> ARCH_DWARF_PC & 1 ||
					       saves_registers(code, i + op.units)
				       ? FRAME
				       : NO;
		}
		if (is_of_a_body(&op, written))
			return NO;
		if (op.what == SCAN_SUM && op.reads & ~written & 1u << SCAN_FUNCTION)
			return FRAME;
		if (op.flow >= SCAN_JUMP && !op.conditional && !block)
			return sign_of_leaving(code, i, &op, written, strict);
		if ((op.flow == SCAN_BRANCH || op.flow == SCAN_LIKELY) && op.target < code->address)
			return NO;
		written |= 1u << op.to | op.also;
		block = block ? block - 1 : op.block;
	}
	return PERHAPS;
}

bool scan_begins(const struct scan_code *code)
{
	return begins(code, false) != NO;
}

/* The code from i on. */
static struct scan_code rest_of(const struct scan *scan, size_t i)
{
	struct scan_code rest = *scan->code;

	rest.bytes += i * SCAN_UNIT;
	rest.address += i * SCAN_UNIT;
	rest.count -= i;
	return rest;
}

static enum sign begins_at(const struct scan *scan, size_t i, bool strict)
{
	struct scan_code rest = rest_of(scan, i);

	return begins(&rest, strict);
}

/* --- the run --- */

/* Whether it is filling between functions. */
static bool is_filling(const struct scan *scan, size_t i)
{
	return scan_is_filling(word_at(scan->code, i),
			       address_of(scan->code, i) | scan->code->thumb);
}

static void begin_function(struct scan *scan, uint8_t guess)
{
	enter(&scan->machine, SCAN_SURE);
	scan->body = scan->machine;
	scan->machine.guess = guess;
	scan->deepest = 0;
	scan->reached = true;
	scan->block = 0;
}

static void take_body(struct scan *scan)
{
	scan->machine = scan->body;
	scan->machine.guess = SCAN_OF_BODY;
	scan->machine.changed = true;
}

/* Comes to an instruction. false: nothing is executed there. */
static bool arrive(struct scan *scan, size_t i)
{
	struct scan_state *state = &scan->states[i];
	struct value sp = get(&scan->machine, ARCH_DWARF_SP);
	bool open = scan->code->open;

	if (state->met & BEGINS) {
		begin_function(scan, SCAN_BEGUN);
		return true;
	}
	if (state->met & BY_BRANCH) {
		if (scan->reached && !now(scan)->guess && !state->guess)
			meet(state, now(scan));
		take(scan, state);
		scan->reached = true;
		return true;
	}
	if (state->met & DATA)
		return false;
	if (!scan->reached) {
		if (open && is_filling(scan, i)) {
			take_body(scan);
			return false;
		}
		if (open && begins_at(scan, i, false) != NO) {
			begin_function(scan, SCAN_BEGUN);
		} else {
			take_body(scan);
			scan->reached = true;
		}
	} else if (open && scan->after && (sp.known != CFA_PLUS || sp.value < 0)) {
		if (is_filling(scan, i))
			return false;
		if (address_of(scan->code, i) % SCAN_ALIGNMENT == 0 &&
		    begins_at(scan, i, true) >= LEAVES)
			begin_function(scan, SCAN_BEGUN);
	}
	return true;
}

/* Notes the deepest frame so far: the function's body. */
static void note_body(struct scan *scan)
{
	const struct machine *machine = &scan->machine;
	struct value sp = get(machine, ARCH_DWARF_SP);
	int32_t depth = sp.known != CFA_PLUS || sp.value < -DEEPEST ? DEEPEST
			: sp.value < 0                              ? -sp.value
								    : 0;

	depth = depth * 8 + (machine->slots[SCAN_SAVED_RA] ? 4 : 0) +
		(machine->slots[SCAN_SAVED_FP] ? 2 : 0) +
		(get(machine, scan->frame).known == CFA_PLUS);
	if (depth > scan->deepest && machine->guess != SCAN_OF_BODY) {
		scan->deepest = depth;
		scan->body = *machine;
	}
}

/* Keeps what is known before an instruction. */
static void keep(struct scan *scan, size_t i)
{
	struct scan_state *state = &scan->states[i];
	uint8_t met = state->met;

	if (scan->machine.changed)
		note_body(scan);
	*state = *now(scan);
	state->met = met | BY_FLOW;
}

/* Hands the state on to the target of a branch at i. */
static void hand_on(struct scan *scan, size_t i, uint64_t target)
{
	struct scan_state here = *now(scan), *there;
	size_t at = (target - scan->code->address) / SCAN_UNIT;

	if (!is_inside(scan->code, target) || target % SCAN_UNIT != 0)
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

/*
 * Whether a jump leads to the start of a function that nobody names, which then begins there: the
 * code makes a frame, and it is no branch within ours.
 */
static bool begins_another(struct scan *scan, const struct scan_op *op)
{
	const struct scan_state *here = now(scan);
	size_t at = (op->target - scan->code->address) / SCAN_UNIT;

	if (!SCAN_JUMPS_AWAY || !scan->code->open || !is_inside(scan->code, op->target) ||
	    (op->flow != SCAN_JUMP && !(here->flags & SCAN_SP && here->sp == 0)) ||
	    begins_at(scan, at, true) != FRAME)
		return false;
	scan->states[at].met |= BEGINS;
	return true;
}

#define TABLE_MAX 4096 /* entries */

/* Where an entry of a table leads to. */
static uint64_t entry_target(const struct scan_code *code, const struct scan_op *op,
			     uint64_t address)
{
	const uint8_t *at = code->bytes + (address - code->address);

	switch (op->value) {
	case SCAN_TABLE_BYTES:
		return op->target + *at * UINT64_C(2);
	case SCAN_TABLE_HALVES:
		return op->target + bytes_u16(at) * UINT64_C(2);
	case SCAN_TABLE_WORDS:
		return bytes_u32(at) & ~UINT64_C(1);
	case SCAN_TABLE_OFFSETS:
		return (uint32_t)(op->target + bytes_u32(at)) & ~UINT64_C(1);
	}
	return address;
}

/*
 * Hands the state on to all that a table leads to. It has as many entries as the comparison before
 * says, and ends where the nearest target lies.
 */
static void follow_table(struct scan *scan, size_t i, const struct scan_op *op)
{
	const struct scan_code *code = scan->code;
	uint64_t end = code->address + code->count * SCAN_UNIT, address = op->target;
	uint32_t size = op->value >= 4 ? 4 : (uint32_t)op->value, count = scan->bound;

	if (op->target < code->address || count >= TABLE_MAX)
		return;
	for (; count-- && address <= end && end - address >= size; address += size) {
		uint64_t target = entry_target(code, op, address);

		if (!is_inside(code, target))
			break;
		hand_on(scan, i, target);
		if (target >= op->target && target < end && op->value != SCAN_TABLE_JUMPS)
			end = target;
	}
	if (op->value != SCAN_TABLE_JUMPS)
		mark_data(scan, i, op->target, bytes_round_up(address - op->target, SCAN_UNIT));
}

/* A jump by a table whose address was made before, and which follows. i: its last unit. */
static bool is_before_its_table(const struct scan *scan, size_t i, const struct scan_op *op)
{
	return op->flow == SCAN_LEAVE && scan->table - address_of(scan->code, i + 1) < 4;
}

/* A jump out of the function, without a frame: what follows is not reached by it. */
static bool leaves(const struct scan *scan, const struct scan_op *op)
{
	struct value sp = get(&scan->machine, ARCH_DWARF_SP);
	bool gone = sp.known == CFA_PLUS && sp.value == 0 && scan->deepest > 0;

	if (op->flow == SCAN_JUMP)
		return gone && (scan->code->open || !is_inside(scan->code, op->target));
	return op->flow == SCAN_RETURN || (op->flow == SCAN_LEAVE && gone);
}

/* Executes the instruction in the delay slot of a call or jump at i. Returns its number. */
static size_t execute_delayed(struct scan *scan, size_t i)
{
	struct scan_op op;

	if (i + 1 >= scan->code->count)
		return i;
	scan_op_at(scan->code, i + 1, &op);
	keep(scan, i + 1);
	execute(scan, i + 1, &op);
	return i + 1;
}

/* Whether the instruction depends on a condition: then a jump does, too. */
static void heed_condition(struct scan *scan, size_t i, struct scan_op *op)
{
	bool conditional = op->conditional || scan->block;

	if (conditional && !scan->conditional)
		scan->before = scan->machine;
	scan->conditional = conditional;
	scan->block = scan->block ? scan->block - 1 : op->block;
	if (conditional && op->flow >= SCAN_JUMP) {
		if (op->flow == SCAN_TABLE)
			follow_table(scan, i, op);
		if (op->flow != SCAN_JUMP)
			op->target = 0;
		op->flow = SCAN_LIKELY;
	}
}

/* Executes the instruction at i. Returns the number of the next one. */
static size_t step(struct scan *scan, size_t i)
{
	struct scan_op op;

	scan_op_at(scan->code, i, &op);
	if (SCAN_CONDITIONS)
		heed_condition(scan, i, &op);
	if (op.flow == SCAN_NEXT) {
		execute(scan, i, &op);
		return i + op.units;
	}
	if (SCAN_DELAY) {
		if (op.flow == SCAN_LIKELY)
			scan->before = scan->machine;
		i = execute_delayed(scan, i);
	} else {
		i += op.units - 1u;
	}
	scan->after = op.flow == SCAN_CALL || op.flow == SCAN_JUMP || op.flow == SCAN_LEAVE;
	if (op.flow == SCAN_CALL) {
		scan->machine.known &= SCAN_KEPT;
		scan->machine.changed = true;
		// What a walk asks for: the state when it returns.
		if (i < scan->code->count)
			keep(scan, i);
		return i + 1;
	}
	if ((op.flow == SCAN_BRANCH || op.flow == SCAN_LIKELY || op.flow == SCAN_JUMP) &&
	    !begins_another(scan, &op))
		hand_on(scan, i, op.target);
	if (is_before_its_table(scan, i, &op)) {
		op.flow = SCAN_TABLE;
		op.value = op.memory ? SCAN_TABLE_WORDS : SCAN_TABLE_OFFSETS;
		op.target = scan->table;
	}
	if (op.flow == SCAN_TABLE) {
		follow_table(scan, i, &op);
		take_body(scan);
	}
	if (op.flow == SCAN_LIKELY) {
		scan->machine = scan->before;
		scan->machine.changed = true;
	}
	if (leaves(scan, &op)) {
		scan->reached = false;
	} else if (op.flow == SCAN_JUMP && SCAN_POOL_FOLLOWS(scan->code)) {
		scan->machine.guess = SCAN_OF_BODY;
		scan->machine.changed = true;
	}
	return i + 1;
}

static void pass(struct scan *scan)
{
	begin_function(scan, SCAN_SURE);
	scan->after = false;
	scan->again = false;
	for (size_t i = 0; i < scan->code->count;) {
		bool executed = arrive(scan, i);

		scan->after = false;
		keep(scan, i);
		if (executed) {
			i = step(scan, i);
		} else {
			scan->after = scan->reached;
			i++;
		}
	}
}

/* Where no function's start is known, reading begins so many units before. */
#define READ_BACK 40000

bool scan_place(const struct scan_text *text, uint64_t address, struct scan_code *ret)
{
	uint64_t start, end;
	bool named;

	scan_find_starts(text, address, &start, &end);
	named = start != 0;
	if (!named)
		start = (address - text->address > READ_BACK * SCAN_UNIT
				 ? (address & ~UINT64_C(3)) - READ_BACK * SCAN_UNIT
				 : text->address) |
			text->thumb;
	*ret = (struct scan_code){.open = true, .thumb = start & 1};
	start -= ret->thumb;
	ret->bytes = text->bytes + (start - text->address);
	ret->address = start;
	ret->count = (end - start) / SCAN_UNIT;
	return named;
}

void scan_run(const struct scan_code *code, struct scan_state *states)
{
	struct scan scan = {.code = code, .states = states, .frame = SCAN_FRAME(code)};

	for (size_t i = 0; i < code->count; i++)
		states[i] = (struct scan_state){0};
	for (unsigned i = 0; i < PASSES; i++) {
		pass(&scan);
		if (!scan.again)
			break;
	}
}

void scan_saved_place(const struct scan_state *state, unsigned which, struct rule_place *place,
		      int32_t *offset)
{
	*place = (struct rule_place){0};
	*offset = state->slots[which] * WORD;
	if (*offset)
		*place = (struct rule_place){RULE_AT, RULE_BASE_CFA};
}

bool scan_rule(const struct scan_state *state, struct unwind_rule *ret)
{
	bool by_fp = state->flags & SCAN_FP;

	if (!(state->flags & (SCAN_SP | SCAN_FP)))
		return false;
	*ret = (struct unwind_rule){
		.kind = RULE_STEP,
		.cfa_base = !by_fp                       ? ARCH_DWARF_SP
			    : state->flags & SCAN_BY_FP2 ? SCAN_FP2
							 : ARCH_DWARF_FP,
		.cfa_offset = by_fp ? -state->fp : -state->sp,
	};
	scan_saved_place(state, SCAN_SAVED_FP, &ret->fp, &ret->fp_offset);
	scan_saved_place(state, SCAN_SAVED_RA, &ret->ra, &ret->ra_offset);
	if (ret->ra_offset)
		return true;
	ret->ra = (struct rule_place){RULE_VALUE, ARCH_DWARF_PC};
	return state->flags & SCAN_RA_IN_REGISTER;
}
