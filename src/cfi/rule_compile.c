/* See rule_compile.h. */
#include "cfi/rule_compile.h"

#include <stddef.h>

#include "cfi/eh_cursor.h"

static bool fits_rule(int64_t value)
{
	return value == (int32_t)value;
}

static bool compile_cfa(const struct cfa_entry *entry, uint64_t pc,
			const struct unwind_registers *registers, struct unwind_rule *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR};

	if (entry->how == CFA_OFFSET) {
		if (entry->reg >= registers->count)
			return false;
		term.reg = (uint8_t)entry->reg;
		term.value = entry->offset;
	} else if (entry->how != CFA_EXPRESSION ||
		   !cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					  registers->pc, NULL, &term)) {
		return false;
	}
	if (term.kind == CFA_TERM_CONSTANT || !fits_rule(term.value) || !fits_rule(term.inner))
		return false;
	ret->cfa_base = term.reg;
	ret->cfa_deref = term.kind == CFA_TERM_LOADED;
	ret->cfa_offset = (int32_t)(ret->cfa_deref ? term.inner : term.value);
	ret->cfa_add = (int32_t)(ret->cfa_deref ? term.value : 0);
	return true;
}

/* The term that an entry computes: the address of the register's value or, if *value, that. */
static bool entry_term(const struct cfa_entry *entry, uint64_t pc,
		       const struct unwind_registers *registers, bool *value, struct cfa_term *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR, .reg = RULE_BASE_CFA};

	*value = entry->how != CFA_OFFSET && entry->how != CFA_EXPRESSION;
	switch (entry->how) {
	case CFA_OFFSET:
	case CFA_VAL_OFFSET:
		term.value = entry->offset;
		break;
	case CFA_REGISTER:
		if (entry->reg >= registers->count)
			return false;
		term.reg = (uint8_t)entry->reg;
		break;
	default:
		if (!cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					   registers->pc, &term, &term))
			return false;
	}
	*ret = term;
	return true;
}

bool rule_compile_place(const struct cfa_entry *entry, uint64_t pc,
			const struct unwind_registers *registers, struct rule_place *place,
			int32_t *offset)
{
	struct cfa_term term;
	bool value;

	*place = (struct rule_place){.how = RULE_SAME};
	if (entry->how == CFA_UNSPECIFIED || entry->how == CFA_SAME)
		return true;
	if (entry->how == CFA_UNDEFINED) {
		place->how = RULE_LOST;
		return true;
	}
	if (!entry_term(entry, pc, registers, &value, &term))
		return false;
	if (term.kind == CFA_TERM_LOADED && value && term.value == 0) {
		// A value that is loaded from memory is the same as a place in memory.
		value = false;
		term.value = term.inner;
	} else if (term.kind != CFA_TERM_LINEAR) {
		return false;
	}
	if (!fits_rule(term.value))
		return false;
	*place = (struct rule_place){.how = value ? RULE_VALUE : RULE_AT, .base = term.reg};
	*offset = (int32_t)term.value;
	return true;
}

bool rule_compile(const struct eh_frame_row *found, uint64_t pc,
		  const struct unwind_registers *registers, struct unwind_rule *ret)
{
	const struct cfa_row *row = &found->row;
	struct unwind_rule rule = {.kind = RULE_STEP, .signal = found->signal};

	if (row->ra.how == CFA_UNDEFINED) {
		*ret = (struct unwind_rule){.kind = RULE_END};
		return true;
	}
	if (!compile_cfa(&row->cfa, pc, registers, &rule) ||
	    !rule_compile_place(&row->ra, pc, registers, &rule.ra, &rule.ra_offset))
		return false;
	if (rule.ra.how == RULE_SAME && registers->link) // a function without a frame, interrupted
		rule.ra = (struct rule_place){.how = RULE_VALUE, .base = registers->pc};
	if (rule.ra.how != RULE_AT && rule.ra.how != RULE_VALUE)
		return false;
	if (!rule_compile_place(&row->saved, pc, registers, &rule.fp, &rule.fp_offset)) {
		rule.fp = (struct rule_place){.how = RULE_LOST};
		rule.fp_offset = 0;
	}
	*ret = rule;
	return true;
}

/* A stack machine on symbolic terms (DWARF 5, section 2.5.1). */
#define STACK_MAX 8

/* In the programs and libraries of a Debian system they have at most 11 bytes. */
#define EXPRESSION_MAX 64

enum {
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_NOP = 0x96,
};

struct machine {
	struct eh_cursor code;
	uint64_t pc;
	uint8_t pc_register;
	unsigned depth;
	bool bad;
	struct cfa_term stack[STACK_MAX];
};

static void push_term(struct machine *m, struct cfa_term term)
{
	if (m->depth == STACK_MAX)
		m->bad = true;
	else
		m->stack[m->depth++] = term;
}

static struct cfa_term pop_term(struct machine *m)
{
	if (m->depth == 0) {
		m->bad = true;
		return (struct cfa_term){0};
	}
	return m->stack[--m->depth];
}

static void push_constant(struct machine *m, uint64_t value)
{
	push_term(m, (struct cfa_term){.kind = CFA_TERM_CONSTANT, .value = (int64_t)value});
}

static void push_register(struct machine *m, uint8_t reg, uint64_t offset)
{
	if (reg == m->pc_register)
		push_constant(m, m->pc + offset);
	else
		push_term(m, (struct cfa_term){.kind = CFA_TERM_LINEAR,
					       .reg = reg,
					       .value = (int64_t)offset});
}

static void push_sum(struct machine *m, struct cfa_term a, struct cfa_term b)
{
	struct cfa_term sum = a.kind == CFA_TERM_CONSTANT ? b : a;

	// The sum of two registers is no shape that a rule can hold.
	if (a.kind != CFA_TERM_CONSTANT && b.kind != CFA_TERM_CONSTANT)
		m->bad = true;
	sum.value = (int64_t)((uint64_t)a.value + (uint64_t)b.value);
	push_term(m, sum);
}

static void load_term(struct machine *m)
{
	struct cfa_term address = pop_term(m);

	// Only one level of memory; and a word at a constant address would not be on the stack.
	if (address.kind != CFA_TERM_LINEAR)
		m->bad = true;
	push_term(m, (struct cfa_term){
			     .kind = CFA_TERM_LOADED, .reg = address.reg, .inner = address.value});
}

/* An operator applied to two constants. Comparisons are signed, as DWARF says. */
static uint64_t combine_constants(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case OP_AND:
		return a & b;
	case OP_OR:
		return a | b;
	case OP_MUL:
		return a * b;
	case OP_SHL:
		return b < 64 ? a << b : 0;
	case OP_SHR:
		return b < 64 ? a >> b : 0;
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_GE:
		return (int64_t)a >= (int64_t)b;
	case OP_GT:
		return (int64_t)a > (int64_t)b;
	case OP_LE:
		return (int64_t)a <= (int64_t)b;
	case OP_LT:
		return (int64_t)a < (int64_t)b;
	default:
		m->bad = true;
		return 0;
	}
}

static void run_binary(struct machine *m, uint8_t op)
{
	struct cfa_term b = pop_term(m);
	struct cfa_term a = pop_term(m);

	if (op == OP_MINUS && b.kind == CFA_TERM_CONSTANT) {
		b.value = (int64_t) - (uint64_t)b.value;
		push_sum(m, a, b);
	} else if (op == OP_PLUS) {
		push_sum(m, a, b);
	} else if (a.kind == CFA_TERM_CONSTANT && b.kind == CFA_TERM_CONSTANT) {
		push_constant(m, combine_constants(m, op, (uint64_t)a.value, (uint64_t)b.value));
	} else {
		m->bad = true;
	}
}

/* Operations that push a constant written behind them. False: op is none of these. */
static bool run_constant(struct machine *m, uint8_t op)
{
	struct eh_cursor *code = &m->code;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		push_constant(m, op - OP_LIT0);
		return true;
	}
	switch (op) {
	case OP_CONST1U:
		push_constant(m, eh_cursor_u8(code));
		return true;
	case OP_CONST1S:
		push_constant(m, (uint64_t)(int8_t)eh_cursor_u8(code));
		return true;
	case OP_CONST2U:
		push_constant(m, eh_cursor_u16(code));
		return true;
	case OP_CONST2S:
		push_constant(m, (uint64_t)(int16_t)eh_cursor_u16(code));
		return true;
	case OP_CONST4U:
		push_constant(m, eh_cursor_u32(code));
		return true;
	case OP_CONST4S:
		push_constant(m, (uint64_t)(int32_t)eh_cursor_u32(code));
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		push_constant(m, eh_cursor_u64(code));
		return true;
	case OP_CONSTU:
		push_constant(m, eh_cursor_uleb(code));
		return true;
	case OP_CONSTS:
		push_constant(m, (uint64_t)eh_cursor_sleb(code));
		return true;
	default:
		return false;
	}
}

static void run_operation(struct machine *m, uint8_t op)
{
	if (run_constant(m, op))
		return;
	if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_register(m, op - OP_BREG0, (uint64_t)eh_cursor_sleb(&m->code));
	} else if (op == OP_DEREF) {
		load_term(m);
	} else if (op == OP_PLUS_UCONST) {
		push_constant(m, eh_cursor_uleb(&m->code));
		run_binary(m, OP_PLUS);
	} else if (op != OP_NOP) {
		run_binary(m, op);
	}
}

bool cfa_expression_reduce(const uint8_t *bytes, size_t size, uint64_t pc, uint8_t pc_register,
			   const struct cfa_term *first, struct cfa_term *ret)
{
	struct eh_image image = {.bytes = bytes, .size = size};
	struct machine m;

	if (size > EXPRESSION_MAX)
		return false;
	m.code = (struct eh_cursor){.image = &image, .end = size};
	m.pc = pc;
	m.pc_register = pc_register;
	m.depth = 0;
	m.bad = false;
	if (first)
		push_term(&m, *first);
	while (eh_cursor_left(&m.code) > 0 && !m.bad)
		run_operation(&m, eh_cursor_u8(&m.code));
	if (m.bad || m.code.bad || m.depth == 0)
		return false;
	*ret = m.stack[m.depth - 1];
	return true;
}
