/* The interpreter of call frame instructions (DWARF 5, section 6.4.2). See cfa_program.h. */
#include "cfi/cfa_program.h"

#include <stddef.h>

/*
 * How deep DW_CFA_remember_state may nest. Compilers nest one level, hand-written assembly two;
 * more than this would not fit our stack budget.
 */
#define STATES_MAX 6

/* The two upper bits select these three; the rest of the byte is an operand. */
#define OP_ADVANCE_LOC 0x40
#define OP_OFFSET      0x80
#define OP_RESTORE     0xc0

enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_AARCH64_NEGATE_RA_STATE = 0x2d, /* on SPARC another one */
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct machine {
	const struct cfa_program *program;
	struct eh_cursor *code;
	struct cfa_row row;
	struct cfa_row initial; /* what DW_CFA_restore goes back to */
	uint64_t location;
	unsigned depth;
	bool bad;
	struct cfa_row states[STATES_MAX];
};

/*
 * Where a register's rule is kept. Registers that nobody asks for share *nowhere, whose content
 * nobody uses.
 */
static struct cfa_entry *entry_of(const struct machine *m, struct cfa_row *row, uint64_t reg,
				  struct cfa_entry *nowhere)
{
	if (reg == m->program->ra_register)
		return &row->ra;
	return reg == m->program->saved_register ? &row->saved : nowhere;
}

static void set_entry(struct machine *m, uint64_t reg, uint8_t how, uint64_t offset)
{
	struct cfa_entry nowhere;
	struct cfa_entry *entry = entry_of(m, &m->row, reg, &nowhere);

	*entry = (struct cfa_entry){.how = how, .offset = (int64_t)offset};
}

static void restore_entry(struct machine *m, uint64_t reg)
{
	struct cfa_entry nowhere = {0};

	*entry_of(m, &m->row, reg, &nowhere) = *entry_of(m, &m->initial, reg, &nowhere);
}

/* Reads an expression: its size, then so many bytes. */
static struct cfa_entry read_expression(struct machine *m, uint8_t how)
{
	uint64_t size = eh_cursor_uleb(m->code);
	const uint8_t *expression = eh_cursor_take(m->code, size);
	struct cfa_entry entry = {.how = how, .expression = expression};

	if (!expression || size > UINT32_MAX)
		m->bad = true;
	else
		entry.expression_size = (uint32_t)size;
	return entry;
}

static uint64_t factored_uleb(struct machine *m)
{
	return eh_cursor_uleb(m->code) * (uint64_t)m->program->data_align;
}

static uint64_t factored_sleb(struct machine *m)
{
	return (uint64_t)eh_cursor_sleb(m->code) * (uint64_t)m->program->data_align;
}

static void define_cfa(struct machine *m, uint64_t reg, uint64_t offset)
{
	// No rule holds such a register number.
	if (reg > UINT32_MAX)
		m->bad = true;
	m->row.cfa = (struct cfa_entry){
		.how = CFA_OFFSET, .reg = (uint32_t)reg, .offset = (int64_t)offset};
}

static void define_cfa_part(struct machine *m, bool is_register, uint64_t value)
{
	struct cfa_entry *cfa = &m->row.cfa;

	// After an expression a register or an offset alone means nothing.
	if (cfa->how != CFA_OFFSET)
		m->bad = true;
	else if (is_register)
		define_cfa(m, value, (uint64_t)cfa->offset);
	else
		cfa->offset = (int64_t)value;
}

static void remember_state(struct machine *m)
{
	if (m->depth == STATES_MAX)
		m->bad = true;
	else
		m->states[m->depth++] = m->row;
}

static void restore_state(struct machine *m)
{
	if (m->depth == 0)
		m->bad = true;
	else
		m->row = m->states[--m->depth];
}

/* Instructions that say how to recover a register. False: op is none of these. */
static bool run_register(struct machine *m, uint8_t op)
{
	uint64_t reg;
	struct cfa_entry nowhere, expression;

	switch (op) {
	case OP_OFFSET_EXTENDED:
	case OP_OFFSET_EXTENDED_SF:
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = eh_cursor_uleb(m->code);
		if (op == OP_OFFSET_EXTENDED_SF)
			set_entry(m, reg, CFA_OFFSET, factored_sleb(m));
		else if (op == OP_OFFSET_EXTENDED)
			set_entry(m, reg, CFA_OFFSET, factored_uleb(m));
		else
			set_entry(m, reg, CFA_OFFSET, -factored_uleb(m));
		return true;
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
		reg = eh_cursor_uleb(m->code);
		set_entry(m, reg, CFA_VAL_OFFSET,
			  op == OP_VAL_OFFSET ? factored_uleb(m) : factored_sleb(m));
		return true;
	case OP_RESTORE_EXTENDED:
		restore_entry(m, eh_cursor_uleb(m->code));
		return true;
	case OP_UNDEFINED:
		set_entry(m, eh_cursor_uleb(m->code), CFA_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		set_entry(m, eh_cursor_uleb(m->code), CFA_SAME, 0);
		return true;
	case OP_REGISTER:
		reg = eh_cursor_uleb(m->code);
		expression = (struct cfa_entry){.how = CFA_REGISTER};
		expression.reg = (uint32_t)eh_cursor_uleb(m->code);
		*entry_of(m, &m->row, reg, &nowhere) = expression;
		return true;
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		reg = eh_cursor_uleb(m->code);
		expression = read_expression(m, op == OP_EXPRESSION ? CFA_EXPRESSION
								    : CFA_VAL_EXPRESSION);
		*entry_of(m, &m->row, reg, &nowhere) = expression;
		return true;
	default:
		return false;
	}
}

/* Instructions that set the CFA or the whole row. False: op is none of these. */
static bool run_row(struct machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case OP_NOP:
		return true;
	case OP_REMEMBER_STATE:
		remember_state(m);
		return true;
	case OP_RESTORE_STATE:
		restore_state(m);
		return true;
	case OP_DEF_CFA:
		reg = eh_cursor_uleb(m->code);
		define_cfa(m, reg, eh_cursor_uleb(m->code));
		return true;
	case OP_DEF_CFA_SF:
		reg = eh_cursor_uleb(m->code);
		define_cfa(m, reg, factored_sleb(m));
		return true;
	case OP_DEF_CFA_REGISTER:
		define_cfa_part(m, true, eh_cursor_uleb(m->code));
		return true;
	case OP_DEF_CFA_OFFSET:
		define_cfa_part(m, false, eh_cursor_uleb(m->code));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		define_cfa_part(m, false, factored_sleb(m));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		m->row.cfa = read_expression(m, CFA_EXPRESSION);
		return true;
	case OP_AARCH64_NEGATE_RA_STATE: // a signed return address: whoever reads it strips it
		return true;
	case OP_GNU_ARGS_SIZE: // matters to landing pads only
		eh_cursor_uleb(m->code);
		return true;
	default:
		return false;
	}
}

/* Instructions that move on to the next row. False: op is none of these. */
static bool run_advance(struct machine *m, uint8_t op)
{
	uint64_t align = m->program->code_align;

	switch (op) {
	case OP_SET_LOC:
		m->location = eh_cursor_pointer(m->code, m->program->address_encoding, 0);
		return true;
	case OP_ADVANCE_LOC1:
		m->location += eh_cursor_u8(m->code) * align;
		return true;
	case OP_ADVANCE_LOC2:
		m->location += eh_cursor_u16(m->code) * align;
		return true;
	case OP_ADVANCE_LOC4:
		m->location += eh_cursor_u32(m->code) * align;
		return true;
	default:
		return false;
	}
}

/*
 * Runs instructions until they end, or until the next row would begin behind pc. It terminates,
 * because each instruction takes at least one byte.
 */
static bool run_until(struct machine *m, struct eh_cursor *code, uint64_t pc)
{
	m->code = code;
	while (eh_cursor_left(code) > 0 && !m->bad) {
		uint8_t byte = eh_cursor_u8(code);
		uint8_t operand = byte & 0x3f;

		switch (byte & 0xc0) {
		case OP_ADVANCE_LOC:
			m->location += operand * m->program->code_align;
			break;
		case OP_OFFSET:
			set_entry(m, operand, CFA_OFFSET, factored_uleb(m));
			break;
		case OP_RESTORE:
			restore_entry(m, operand);
			break;
		default:
			if (!run_advance(m, byte) && !run_register(m, byte) && !run_row(m, byte))
				return false;
		}
		if (m->location > pc)
			break;
	}
	return !code->bad && !m->bad;
}

/* Runs the CIE's instructions, up to pc. False: as run_until(). */
static bool begin_machine(struct machine *m, const struct cfa_program *program, uint64_t pc)
{
	struct eh_cursor initial = program->initial;

	m->program = program;
	// RISC-V's older assemblers begin with the CFA's register alone: then the offset is 0.
	m->row = (struct cfa_row){.cfa = {.how = CFA_OFFSET, .reg = UINT32_MAX}};
	m->initial = m->row;
	m->location = program->start;
	m->depth = 0;
	m->bad = false;
	m->bad = !run_until(m, &initial, pc);
	m->code = NULL;
	m->initial = m->row;
	m->location = program->start;
	return !m->bad;
}

bool cfa_program_run(const struct cfa_program *program, uint64_t pc, struct cfa_row *ret)
{
	struct eh_cursor instructions = program->instructions;
	struct machine m;

	if (!begin_machine(&m, program, pc) || !run_until(&m, &instructions, pc))
		return false;
	*ret = m.row;
	return true;
}

void cfa_program_walk(const struct cfa_program *program, uint64_t end, cfa_program_row *each,
		      void *argument)
{
	struct eh_cursor instructions = program->instructions;
	struct machine m;
	uint64_t low = program->start;
	bool good = begin_machine(&m, program, UINT64_MAX);

	// A location that does not grow begins no row: run_until() does not stop at it.
	while (low < end) {
		uint64_t high = end;

		good = good && run_until(&m, &instructions, low);
		if (good && m.location > low && m.location < end)
			high = m.location;
		each(argument, good ? &m.row : NULL, low, high);
		low = high;
	}
}
