/* See exidx.h. */
#include "cfi/exidx.h"

enum { SP = 13, LR = 14, PC = 15, REGISTERS = 16 };

#define CANT_UNWIND 1u
#define INLINE      (1u << 31)

/* --- the table --- */

static struct eh_cursor cursor_at(const struct eh_image *image, uint64_t address)
{
	struct eh_cursor cursor = {.image = image, .end = image->size};

	cursor.position = (size_t)(address - image->address);
	cursor.bad = address - image->address > image->size;
	return cursor;
}

/* A word that counts from its own place, in 31 bits. */
static uint64_t target_of(uint64_t place, uint32_t word)
{
	return (uint32_t)(place + (uint32_t)((int32_t)(word << 1) >> 1));
}

uint64_t exidx_start(const struct exidx_table *table, uint64_t i)
{
	uint64_t place = table->address + i * 8;
	struct eh_cursor cursor = cursor_at(table->image, place);
	uint32_t word = eh_cursor_u32(&cursor);

	return cursor.bad ? 0 : target_of(place, word) & ~UINT64_C(1);
}

/* The opcodes of an entry of .ARM.extab. */
static bool enter_extab(struct exidx_function *function)
{
	struct eh_cursor *opcodes = &function->opcodes;
	uint32_t header = eh_cursor_u32(opcodes);
	uint64_t words = 0;

	if (!(header & INLINE)) {
		// A personality of a language, and then as gcc's read it: a count and three
		// opcodes.
		words = eh_cursor_u32(opcodes) >> 24;
		function->first = 3;
	} else if (header >> 24 == 0x80) {
		function->first = 3;
	} else if (header >> 24 <= 0x82) {
		words = header >> 16 & 0xff;
		function->first = 2;
	} else {
		return false;
	}
	if (opcodes->bad || words * 4 > eh_cursor_left(opcodes))
		return false;
	opcodes->end = opcodes->position + (size_t)words * 4;
	opcodes->position -= 4;
	return true;
}

enum exidx_answer exidx_find(const struct exidx_table *table, uint64_t pc,
			     struct exidx_function *ret)
{
	uint64_t low = 0, high = table->size / 8;
	struct eh_cursor cursor;
	uint64_t place;
	uint32_t word;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (exidx_start(table, middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return EXIDX_NONE;
	place = table->address + (low - 1) * 8 + 4;
	cursor = cursor_at(table->image, place);
	word = eh_cursor_u32(&cursor);
	if (cursor.bad)
		return EXIDX_BAD;
	*ret = (struct exidx_function){.start = exidx_start(table, low - 1), .first = 3};
	if (word == CANT_UNWIND)
		return EXIDX_CANT_UNWIND;
	if (word & INLINE) {
		ret->opcodes = cursor;
		ret->opcodes.end = cursor.position;
		ret->opcodes.position -= 4;
		return word >> 24 == 0x80 ? EXIDX_FOUND : EXIDX_BAD;
	}
	ret->opcodes = cursor_at(table->image, target_of(place, word));
	return enter_extab(ret) ? EXIDX_FOUND : EXIDX_BAD;
}

/* --- the opcodes --- */

/*
 * What they say. sp goes up from its value at the call, or from another register's.
 *
 *	98 84 80 …	sp = r8, pop r11 and lr: r11 at r8, lr at r8 + 4, CFA = r8 + 8
 */
struct unwinding {
	struct eh_cursor words;
	uint32_t word;
	unsigned left; /* opcodes in the word */
	bool bad, refused;
	uint8_t base;
	int32_t offset;                     /* sp = base + offset */
	uint32_t saved;                     /* a bit for each register that was popped */
	struct rule_place place[REGISTERS]; /* of these */
	int32_t at[REGISTERS];
};

static uint8_t next_opcode(struct unwinding *unwinding)
{
	if (unwinding->left == 0) {
		unwinding->word = eh_cursor_u32(&unwinding->words);
		unwinding->left = 4;
		unwinding->bad |= unwinding->words.bad;
	}
	return (uint8_t)(unwinding->word >> --unwinding->left * 8);
}

static bool has_opcode(const struct unwinding *unwinding)
{
	return !unwinding->bad && (unwinding->left || eh_cursor_left(&unwinding->words));
}

static void move_sp(struct unwinding *unwinding, int64_t bytes)
{
	bytes += unwinding->offset;
	if (bytes != (int32_t)bytes)
		unwinding->bad = true;
	else
		unwinding->offset = (int32_t)bytes;
}

static void pop(struct unwinding *unwinding, uint32_t registers)
{
	for (unsigned i = 0; i < REGISTERS && registers >> i; i++) {
		if (!(registers >> i & 1))
			continue;
		unwinding->saved |= 1u << i;
		unwinding->place[i] = (struct rule_place){RULE_AT, unwinding->base};
		unwinding->at[i] = unwinding->offset;
		move_sp(unwinding, 4);
	}
}

static uint64_t next_uleb(struct unwinding *unwinding)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 35 && has_opcode(unwinding); shift += 7) {
		uint8_t byte = next_opcode(unwinding);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	unwinding->bad = true;
	return 0;
}

/* 0xb1 to 0xb7: has a second byte, or is rare. */
static void execute_rare(struct unwinding *unwinding, uint8_t opcode)
{
	uint8_t more;

	switch (opcode) {
	case 0xb1: // r0 to r3
		more = next_opcode(unwinding);
		unwinding->bad |= more == 0 || more > 15;
		pop(unwinding, more);
		break;
	case 0xb2:
		move_sp(unwinding, 0x204 + (int64_t)next_uleb(unwinding) * 4);
		break;
	case 0xb3: // floating point, as fstmx stores it
		move_sp(unwinding, (next_opcode(unwinding) & 15) * 8 + 12);
		break;
	case 0xb4: // the signature of the return address
		move_sp(unwinding, 4);
		break;
	case 0xb5: // sp signs it
		break;
	default:
		unwinding->bad = true;
	}
}

/* 0xc0 to 0xff: registers of floating point and the like. */
static void execute_vector(struct unwinding *unwinding, uint8_t opcode)
{
	if (opcode <= 0xc5 || (opcode >= 0xd0 && opcode <= 0xd7))
		move_sp(unwinding, (opcode & 7) * 8 + 8);
	else if (opcode == 0xc6 || opcode == 0xc8 || opcode == 0xc9)
		move_sp(unwinding, (next_opcode(unwinding) & 15) * 8 + 8);
	else if (opcode == 0xc7)
		for (uint32_t more = next_opcode(unwinding) & 15; more; more &= more - 1)
			move_sp(unwinding, 4);
	else
		unwinding->bad = true;
}

/* sp = another register, as it is at the call. */
static void take_base(struct unwinding *unwinding, uint8_t reg)
{
	if (reg == SP || reg == PC || unwinding->saved >> reg & 1)
		unwinding->bad = true;
	unwinding->base = reg;
	unwinding->offset = 0;
}

/* false: the last opcode. */
static bool execute(struct unwinding *unwinding, uint8_t opcode)
{
	if (opcode < 0x80) {
		int32_t bytes = (opcode & 63) * 4 + 4;

		move_sp(unwinding, opcode & 0x40 ? -bytes : bytes);
	} else if (opcode < 0x90) {
		uint32_t registers = (uint32_t)(opcode & 15) << 12;

		registers |= (uint32_t)next_opcode(unwinding) << 4;
		unwinding->refused |= registers == 0;
		pop(unwinding, registers);
	} else if (opcode < 0xa0) {
		take_base(unwinding, opcode & 15);
	} else if (opcode < 0xb0) { // r4 to the one that is named, perhaps lr
		pop(unwinding, ((0x20u << (opcode & 7)) - 0x10u) | (opcode & 8 ? 1u << LR : 0));
	} else if (opcode < 0xb8) {
		if (opcode == 0xb0)
			return false;
		execute_rare(unwinding, opcode);
	} else if (opcode < 0xc0) { // d8 to the one that is named, as fstmx stores them
		move_sp(unwinding, (opcode & 7) * 8 + 12);
	} else {
		execute_vector(unwinding, opcode);
	}
	return true;
}

static enum exidx_answer run(const struct exidx_function *function, struct unwinding *unwinding)
{
	*unwinding = (struct unwinding){.words = function->opcodes, .base = SP};
	unwinding->word = eh_cursor_u32(&unwinding->words);
	unwinding->left = function->first;
	while (has_opcode(unwinding)) {
		if (!execute(unwinding, next_opcode(unwinding)))
			break;
	}
	if (unwinding->refused)
		return EXIDX_CANT_UNWIND;
	return unwinding->bad || unwinding->words.bad ? EXIDX_BAD : EXIDX_FOUND;
}

static void place_of(const struct unwinding *unwinding, unsigned reg, struct rule_place *place,
		     int32_t *offset)
{
	*place = unwinding->place[reg];
	*offset = unwinding->at[reg];
	// What lies in the frame counts from the CFA, unless sp itself was popped.
	if (place->how == RULE_AT && place->base == unwinding->base &&
	    !(unwinding->saved >> SP & 1)) {
		place->base = RULE_BASE_CFA;
		*offset -= unwinding->offset;
	}
}

enum exidx_answer exidx_place(const struct exidx_function *function, uint8_t reg,
			      struct rule_place *place, int32_t *offset)
{
	struct unwinding unwinding;
	enum exidx_answer answer = run(function, &unwinding);

	if (answer == EXIDX_FOUND)
		place_of(&unwinding, reg, place, offset);
	return answer;
}

enum exidx_answer exidx_rule(const struct exidx_function *function, uint8_t fp,
			     struct unwind_rule *ret)
{
	struct unwinding unwinding;
	enum exidx_answer answer = run(function, &unwinding);
	unsigned from = unwinding.saved >> PC & 1 ? PC : LR;

	if (answer != EXIDX_FOUND)
		return answer;
	*ret = (struct unwind_rule){
		.kind = RULE_STEP, .cfa_base = unwinding.base, .cfa_offset = unwinding.offset};
	if (unwinding.saved >> SP & 1) { // the C library's code that returns from signal handlers
		ret->cfa_deref = 1;
		ret->cfa_base = unwinding.place[SP].base;
		ret->cfa_offset = unwinding.at[SP];
	}
	place_of(&unwinding, fp, &ret->fp, &ret->fp_offset);
	place_of(&unwinding, from, &ret->ra, &ret->ra_offset);
	if (ret->ra.how == RULE_SAME)
		ret->ra = (struct rule_place){RULE_VALUE, LR};
	return EXIDX_FOUND;
}
