/* ARM's and Thumb-2's instructions (Arm's DDI 0406), as far as frames are concerned. See scan.h. */
#include "cfi/scan.h"

#include "cfi/abi.h"
#include "cfi/arm/scan_cpu.h"

#define BIT(n) (1u << (n))

enum { SP = 13, LR = 14, PC = 15 };

/* What instructions that compute do with an operand. */
enum { ADDS, SUBTRACTS, MOVES, INVERTS, COMPARES, TESTS, WITH_CARRY, OTHERS };

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
	return word >> low & (BIT(bits) - 1);
}

/* The number of that many bits, with its sign. */
static int32_t extend(uint32_t value, unsigned bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static uint32_t rotate(uint32_t value, unsigned by)
{
	return by ? value >> by | value << (32 - by) : value;
}

/* --- what both kinds of code have --- */

static void leave_by_pc(struct scan_op *op)
{
	bool to_lr = op->what == SCAN_PLUS && op->a == LR && op->value == 0;

	op->flow = to_lr ? SCAN_RETURN : SCAN_LEAVE;
	op->what = SCAN_OTHER;
	op->to = SCAN_ZERO;
}

static void compute(struct scan_op *op, unsigned kind, uint32_t to, uint32_t a)
{
	op->to = kind == COMPARES || kind == TESTS ? SCAN_ZERO : (uint8_t)to;
	op->a = (uint8_t)a;
	op->reads = kind == MOVES || kind == INVERTS ? 0 : BIT(a);
	if (kind == WITH_CARRY)
		op->reads |= BIT(SCAN_FLAGS);
	if (kind == COMPARES || kind == TESTS)
		op->also = BIT(SCAN_FLAGS);
}

/* pc: what reading it gives. */
static void compute_by_value(struct scan_op *op, unsigned kind, uint32_t to, uint32_t a,
			     uint32_t value, uint64_t pc)
{
	compute(op, kind, to, a);
	op->value = (int32_t)(kind == SUBTRACTS ? -value : kind == INVERTS ? ~value : value);
	if (kind == COMPARES) {
		op->what = SCAN_COMPARE;
		op->value = (int32_t)(value + 1);
	} else if (kind == MOVES || kind == INVERTS) {
		op->what = SCAN_CONSTANT;
	} else if (kind == ADDS || kind == SUBTRACTS) {
		op->what = a == PC ? SCAN_ADDRESS : SCAN_PLUS;
		op->target = (pc & ~UINT64_C(3)) + (uint64_t)(int64_t)op->value;
	}
	if (op->to == PC)
		leave_by_pc(op);
}

/* left: b is shifted by so many bits; -1: in another way. */
static void compute_by_register(struct scan_op *op, unsigned kind, uint32_t to, uint32_t a,
				uint32_t b, int left)
{
	compute(op, kind, to, a);
	op->b = (uint8_t)b;
	op->reads |= BIT(b);
	if (kind == MOVES && left >= 0) {
		op->what = left ? SCAN_SHIFT : SCAN_PLUS;
		op->a = (uint8_t)b;
		op->value = left;
	} else if (left == 0 && (kind == ADDS || kind == SUBTRACTS)) {
		op->what = kind == ADDS ? SCAN_SUM : SCAN_LESS;
	} else if (kind == COMPARES && left == 0) {
		op->what = SCAN_COMPARE;
		op->value = 1;
	}
	if (op->to == PC)
		leave_by_pc(op);
}

/* Stores or loads one register. word: all of it; else a part. back: what is added to a then. */
static void transfer(struct scan_op *op, bool loads, bool word, uint32_t reg, uint32_t a,
		     int32_t offset, int32_t back)
{
	op->memory = true;
	op->a = (uint8_t)a;
	op->value = offset;
	op->back = back;
	op->reads = BIT(a) | (loads ? 0 : BIT(reg));
	if (word && back) {
		op->what = loads ? SCAN_LOAD_LIST : SCAN_STORE_LIST;
		op->list = BIT(reg) & ~BIT(PC);
		op->also = loads ? op->list : 0;
	} else if (back) {
		op->what = SCAN_PLUS;
		op->to = (uint8_t)a;
		op->value = back;
		op->also = loads ? BIT(reg) : 0;
	} else {
		op->what = !word ? SCAN_OTHER : loads ? SCAN_LOAD : SCAN_STORE;
		op->b = (uint8_t)reg;
		op->to = loads ? (uint8_t)reg : SCAN_ZERO;
	}
	if (loads && reg == PC) {
		op->flow = a == SP ? SCAN_RETURN : SCAN_LEAVE;
		op->to = SCAN_ZERO;
	}
}

/* The same for a word near pc, of which the code has `value` bytes. */
static void transfer_literal(struct scan_op *op, uint32_t reg, uint64_t pc, int32_t offset,
			     int32_t size)
{
	op->what = SCAN_LITERAL;
	op->to = (uint8_t)reg;
	op->value = size;
	op->target = (pc & ~UINT64_C(3)) + (uint64_t)(int64_t)offset;
	if (reg == PC) {
		op->flow = SCAN_LEAVE;
		op->to = SCAN_ZERO;
	}
}

/* Two registers, side by side. */
static void transfer_pair(struct scan_op *op, bool loads, uint32_t first, uint32_t second,
			  uint32_t a, int32_t offset, int32_t back)
{
	op->what = loads ? SCAN_LOAD_LIST : SCAN_STORE_LIST;
	op->memory = true;
	op->a = (uint8_t)a;
	op->value = offset;
	op->back = back;
	op->list = BIT(first) | (second > first ? BIT(second) : 0);
	op->also = loads ? BIT(first) | BIT(second) : 0;
	op->reads = BIT(a) | (loads ? 0 : BIT(first) | BIT(second));
}

/* ldm, stm, push, pop. */
static void transfer_list(struct scan_op *op, uint32_t word)
{
	uint32_t list = word & 0xffff, a = field(word, 16, 4);
	int32_t bytes = 0;
	bool loads = field(word, 20, 1), up = field(word, 23, 1), before = field(word, 24, 1);

	for (uint32_t left = list; left; left &= left - 1)
		bytes += 4;
	op->what = loads ? SCAN_LOAD_LIST : SCAN_STORE_LIST;
	op->memory = true;
	op->a = (uint8_t)a;
	op->value = (up ? 0 : -bytes) + (before == up ? 4 : 0);
	op->back = !field(word, 21, 1) ? 0 : up ? bytes : -bytes;
	op->list = list & ~BIT(PC);
	op->also = loads ? op->list & ~BIT(a) : 0;
	op->reads = BIT(a) | (loads ? 0 : list);
	if (loads && list >> PC)
		op->flow = a == SP ? SCAN_RETURN : SCAN_LEAVE;
}

/* Floating point and vectors. */
static void decode_coprocessor(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t a = field(word, 16, 4), reg = field(word, 12, 4);
	bool loads = field(word, 20, 1);
	int32_t offset = (int32_t)field(word, 0, 8) * (field(word, 23, 1) ? 4 : -4);

	if ((word & 0x0fe00000) == 0x0c400000) { // two registers at once
		op->to = loads ? (uint8_t)reg : SCAN_ZERO;
		op->also = loads ? BIT(a) : 0;
		op->reads = loads ? 0 : BIT(a) | BIT(reg);
	} else if (field(word, 25, 1) == 0) {
		if (a == PC && loads) {
			transfer_literal(op, SCAN_ZERO, pc, offset, word & 0x100 ? 8 : 4);
			return;
		}
		op->memory = true;
		op->reads = BIT(a);
		op->a = (uint8_t)a;
		if (field(word, 21, 1)) { // vpush, vpop, vldm: of as many words
			op->what = SCAN_PLUS;
			op->to = (uint8_t)a;
			op->value = offset;
		}
	} else if (field(word, 4, 1) && !field(word, 24, 1)) {
		if (!loads)
			op->reads = BIT(reg);
		else if (reg != PC)
			op->to = (uint8_t)reg;
		else
			op->also = BIT(SCAN_FLAGS);
	}
}

/* --- Thumb, 16 bits --- */

static void push_or_pop(struct scan_op *op, uint32_t half)
{
	bool pops = half & 0x800;
	uint32_t more = half & 0x100 ? BIT(pops ? PC : LR) : 0;

	transfer_list(op, (pops ? 0x08bd0000u : 0x092d0000u) | more | (half & 0xff));
}

/* 0x4000 to 0x47ff: registers. */
static void decode_registers(struct scan_op *op, uint32_t half)
{
	static const uint8_t kinds[] = {OTHERS,     OTHERS, OTHERS, OTHERS, OTHERS,   WITH_CARRY,
					WITH_CARRY, OTHERS, TESTS,  OTHERS, COMPARES, TESTS,
					OTHERS,     OTHERS, OTHERS, INVERTS};
	uint32_t low = half & 7, b = field(half, 3, 4), any = low | (half >> 4 & 8);

	if (half < 0x4400) {
		compute_by_register(op, kinds[field(half, 6, 4)], low, low, b & 7, 0);
		op->also |= BIT(SCAN_FLAGS);
	} else if (half < 0x4500) {
		compute_by_register(op, ADDS, any, any, b, 0);
	} else if (half < 0x4600) {
		compute_by_register(op, COMPARES, SCAN_ZERO, any, b, 0);
	} else if (half < 0x4700) {
		compute_by_register(op, MOVES, any, SCAN_ZERO, b, 0);
	} else {
		op->reads = BIT(b);
		op->flow = half & 0x80 ? SCAN_CALL : b == LR ? SCAN_RETURN : SCAN_LEAVE;
	}
}

/* Below 0x4000: shifts, and small values. */
static void decode_small(struct scan_op *op, uint32_t half)
{
	uint32_t to = half & 7, a = field(half, 3, 3), wide = field(half, 8, 3);

	if (half < 0x1800)
		compute_by_register(op, MOVES, to, SCAN_ZERO, a,
				    half < 0x800 ? (int)field(half, 6, 5) : -1);
	else if (half < 0x1c00)
		compute_by_register(op, half & 0x200 ? SUBTRACTS : ADDS, to, a, field(half, 6, 3),
				    0);
	else if (half < 0x2000)
		compute_by_value(op, half & 0x200 ? SUBTRACTS : ADDS, to, a, field(half, 6, 3), 0);
	else
		compute_by_value(op,
				 half < 0x2800   ? MOVES
				 : half < 0x3000 ? COMPARES
				 : half < 0x3800 ? ADDS
						 : SUBTRACTS,
				 wide, wide, half & 0xff, 0);
	op->also |= BIT(SCAN_FLAGS);
}

/* 0x4800 to 0x9fff: loads and stores. */
static void decode_memory(struct scan_op *op, uint32_t half, uint64_t pc)
{
	uint32_t reg = half & 7, a = field(half, 3, 3), wide = field(half, 8, 3);
	bool loads = half & 0x800;

	if (half < 0x5000) {
		transfer_literal(op, wide, pc, (int32_t)(half & 0xff) * 4, 4);
	} else if (half < 0x6000) {
		transfer(op, field(half, 9, 3) >= 3, false, reg, a, 0, 0);
		op->reads |= BIT(field(half, 6, 3));
	} else if (half < 0x9000) {
		transfer(op, loads, half < 0x7000, reg, a, (int32_t)field(half, 6, 5) * 4, 0);
	} else {
		transfer(op, loads, true, wide, SP, (int32_t)(half & 0xff) * 4, 0);
	}
}

/* 0xb000 to 0xbfff. */
static void decode_various(struct scan_op *op, uint32_t half, uint64_t pc)
{
	uint32_t value = (half & 0x7f) * 4;

	if (half < 0xb100) {
		compute_by_value(op, half & 0x80 ? SUBTRACTS : ADDS, SP, SP, value, pc);
	} else if ((half & 0xf500) == 0xb100) { // cbz, cbnz
		op->flow = SCAN_BRANCH;
		op->reads = BIT(half & 7);
		op->target = pc + (field(half, 9, 1) << 6 | field(half, 3, 5) << 1);
	} else if ((half & 0xf600) == 0xb400) {
		push_or_pop(op, half);
	} else if ((half & 0xff00) == 0xb200 || (half & 0xff00) == 0xba00) { // extend, rev
		op->to = half & 7;
		op->reads = BIT(field(half, 3, 3));
	} else if (half > 0xbf00 && half & 15) { // it
		op->block = (uint8_t)(4 - __builtin_ctz(half & 15));
		op->reads = BIT(SCAN_FLAGS);
	}
}

static void decode_half(struct scan_op *op, uint32_t half, uint64_t pc)
{
	uint32_t wide = field(half, 8, 3);

	if (half < 0x4000) {
		decode_small(op, half);
	} else if (half < 0x4800) {
		decode_registers(op, half);
	} else if (half < 0xa000) {
		decode_memory(op, half, pc);
	} else if (half < 0xb000) { // add to pc or sp
		compute_by_value(op, ADDS, wide, half < 0xa800 ? PC : SP, (half & 0xff) * 4, pc);
	} else if (half < 0xc000) {
		decode_various(op, half, pc);
	} else if (half < 0xd000) {
		bool writes = !(half & 0x800) || !(half >> wide & 1);

		transfer_list(op, 0x08800000u | (uint32_t)writes << 21 | (half & 0x800) << 9 |
					  wide << 16 | (half & 0xff));
	} else if (half >= 0xe000) {
		op->flow = SCAN_JUMP;
		op->target = pc + (uint64_t)(int64_t)(extend(half, 11) * 2);
	} else if (half < 0xde00) {
		op->flow = SCAN_BRANCH;
		op->reads = BIT(SCAN_FLAGS);
		op->target = pc + (uint64_t)(int64_t)(extend(half, 8) * 2);
	} else if (half < 0xdf00) { // undefined: a trap
		op->flow = SCAN_LEAVE;
	}
}

/* --- Thumb, 32 bits: the first half is the upper one of word --- */

static uint32_t spread_value(uint32_t word)
{
	uint32_t byte = word & 0xff,
		 kind = field(word, 26, 1) << 4 | field(word, 12, 3) << 1 | field(word, 7, 1);

	switch (kind >> 1) {
	case 0:
		return byte;
	case 1:
		return byte | byte << 16;
	case 2:
		return byte << 8 | byte << 24;
	case 3:
		return byte * 0x01010101u;
	}
	return rotate(byte | 0x80, kind);
}

/* Operations of spread values and of shifted registers; to 15: only the flags. */
static unsigned kind_of(uint32_t word)
{
	uint32_t operation = field(word, 21, 4), a = field(word, 16, 4);
	bool tests = field(word, 8, 4) == PC && field(word, 20, 1);

	switch (operation) {
	case 2:
		return a == PC ? MOVES : OTHERS;
	case 3:
		return a == PC ? INVERTS : OTHERS;
	case 8:
		return tests ? TESTS : ADDS;
	case 10:
	case 11:
		return WITH_CARRY;
	case 13:
		return tests ? COMPARES : SUBTRACTS;
	}
	return tests ? TESTS : OTHERS;
}

static void decode_plain_value(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t to = field(word, 8, 4), a = field(word, 16, 4), operation = field(word, 20, 5);
	uint32_t value = field(word, 26, 1) << 11 | field(word, 12, 3) << 8 | (word & 0xff);

	switch (operation) {
	case 0: // addw, subw
	case 10:
		compute_by_value(op, operation ? SUBTRACTS : ADDS, to, a, value, pc);
		break;
	case 4: // movw
		compute_by_value(op, MOVES, to, SCAN_ZERO, a << 12 | value, pc);
		break;
	case 12: // movt
		compute(op, OTHERS, to, to);
		op->what = SCAN_HIGH;
		op->value = (int32_t)((a << 12 | value) << 16);
		break;
	default: // bit fields
		compute(op, OTHERS, to, a & 15);
		op->reads = a == PC ? 0 : BIT(a);
	}
}

static void decode_branch(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t sign = field(word, 26, 1), j1 = field(word, 13, 1), j2 = field(word, 11, 1);
	uint32_t low = field(word, 0, 11) << 1;
	int32_t far = extend(sign << 24 | (j1 ^ sign ^ 1) << 23 | (j2 ^ sign ^ 1) << 22 |
				     field(word, 16, 10) << 12 | low,
			     25);

	if (word & 0x4000) {
		op->flow = SCAN_CALL;
		op->value = !(word & 0x1000);
		op->target = (word & 0x1000 ? pc : pc & ~UINT64_C(3)) + (uint64_t)(int64_t)far;
	} else if (word & 0x1000) {
		op->flow = SCAN_JUMP;
		op->target = pc + (uint64_t)(int64_t)far;
	} else if (field(word, 22, 4) < 14) {
		op->flow = SCAN_BRANCH;
		op->reads = BIT(SCAN_FLAGS);
		op->target = pc + (uint64_t)(int64_t)extend(sign << 20 | j2 << 19 | j1 << 18 |
								    field(word, 16, 6) << 12 | low,
							    21);
	} else if ((word & 0xfff0f000) == 0xf3e08000) { // mrs
		op->to = (uint8_t)field(word, 8, 4);
	} else if ((word & 0xfff0f000) == 0xf7f0a000) { // undefined: a trap
		op->flow = SCAN_LEAVE;
	}
}

/* ldrd, strd, exclusive ones, tables. */
static void decode_double(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t a = field(word, 16, 4), first = field(word, 12, 4), second = field(word, 8, 4);
	bool before = field(word, 24, 1), up = field(word, 23, 1), writes = field(word, 21, 1),
	     loads = field(word, 20, 1);
	int32_t offset = (int32_t)field(word, 0, 8) * (up ? 4 : -4);

	if (before || writes) {
		if (a == PC)
			transfer_literal(op, SCAN_ZERO, pc, offset, 8);
		else
			transfer_pair(op, loads, first, second, a, before ? offset : 0,
				      writes ? offset : 0);
		if (a == PC)
			op->also = BIT(first) | BIT(second);
	} else if ((word & 0xfff0ffe0) == 0xe8d0f000) { // tbb, tbh
		op->flow = SCAN_TABLE;
		op->value = word & 16 ? SCAN_TABLE_HALVES : SCAN_TABLE_BYTES;
		op->target = pc;
		op->reads = BIT(word & 15);
	} else {
		op->memory = true;
		op->a = (uint8_t)a;
		op->reads = BIT(a);
		// ldrex and its kin; strex has its answer where strexb does not.
		op->to = (uint8_t)(loads ? first : up ? word & 15 : second);
		if (loads && (word & 0xf0) == 0x70)
			op->also = BIT(second);
	}
}

static void decode_single(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t a = field(word, 16, 4), reg = field(word, 12, 4);
	bool loads = field(word, 20, 1), whole = field(word, 21, 2) == 2, up = field(word, 23, 1);
	int32_t offset = (int32_t)(word & 0xff) * (word & 0x200 ? 1 : -1);

	if (field(word, 24, 1) && !loads) { // vectors
		op->memory = true;
		op->a = (uint8_t)a;
		op->reads = BIT(a);
		op->also = (word & 15) == PC ? 0 : BIT(a);
	} else if (a == PC) {
		transfer_literal(op, reg, pc, (int32_t)(word & 0xfff) * (up ? 1 : -1), 4);
		if (!whole)
			op->value = 2;
	} else if (up) {
		transfer(op, loads, whole, reg, a, (int32_t)(word & 0xfff), 0);
	} else if (word & 0x800) {
		transfer(op, loads, whole, reg, a, word & 0x400 ? offset : 0,
			 word & 0x100 ? offset : 0);
	} else {
		transfer(op, loads, false, reg, a, 0, 0);
		op->reads |= BIT(word & 15);
	}
	if (loads && reg == PC && !whole) { // pld
		op->flow = SCAN_NEXT;
		op->to = SCAN_ZERO;
	}
}

static void decode_word(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t a = field(word, 16, 4), to = field(word, 8, 4), shift;

	op->units = 2;
	switch (field(word, 25, 4)) {
	case 4:
		if (field(word, 22, 1))
			decode_double(op, word, pc);
		else
			transfer_list(op, word);
		break;
	case 5: // shifted registers
		shift = field(word, 12, 3) << 2 | field(word, 6, 2);
		compute_by_register(op, kind_of(word), to == PC ? SCAN_ZERO : to, a, word & 15,
				    field(word, 4, 2) == 0 ? (int)shift : -1);
		op->also |= field(word, 20, 1) ? BIT(SCAN_FLAGS) : 0;
		break;
	case 8:
	case 10:
	case 9:
	case 11:
		if (word & 0x8000)
			decode_branch(op, word, pc);
		else if (field(word, 25, 1))
			decode_plain_value(op, word, pc);
		else
			compute_by_value(op, kind_of(word), to == PC ? SCAN_ZERO : to, a,
					 spread_value(word), pc);
		if (!(word & 0x8000) && !field(word, 25, 1))
			op->also |= field(word, 20, 1) ? BIT(SCAN_FLAGS) : 0;
		break;
	case 12:
		decode_single(op, word, pc);
		break;
	case 13: // shifts and extensions by registers, products
		op->to = (uint8_t)to;
		op->reads = BIT(word & 15) | (a == PC ? 0 : BIT(a));
		if (field(word, 23, 2) == 3) // of 64 bits
			op->also = BIT(field(word, 12, 4));
		break;
	default:
		decode_coprocessor(op, word, pc);
	}
}

/* --- ARM code --- */

/* Multiplications, halves of words, pairs, exclusive ones. */
static void decode_extra(struct scan_op *op, uint32_t word)
{
	uint32_t a = field(word, 16, 4), reg = field(word, 12, 4), kind = field(word, 5, 2);
	bool loads = field(word, 20, 1), before = field(word, 24, 1);
	int32_t offset = field(word, 22, 1) ? (int32_t)(field(word, 8, 4) << 4 | (word & 15)) : 0;
	int32_t back;

	if (kind == 0) {
		op->to = (uint8_t)(before ? reg : a);
		op->also = !before && field(word, 23, 1) ? BIT(reg) : 0;
		op->reads = BIT(word & 15) | (before ? BIT(a) : BIT(field(word, 8, 4)));
		return;
	}
	offset = field(word, 23, 1) ? offset : -offset;
	back = !before || field(word, 21, 1) ? offset : 0;
	if (!loads && kind >= 2)
		transfer_pair(op, kind == 2, reg, (reg + 1) & 15, a, before ? offset : 0, back);
	else
		transfer(op, loads, false, reg, a, 0, back);
}

static void decode_computing(struct scan_op *op, uint32_t word, uint64_t pc)
{
	static const uint8_t kinds[] = {
		OTHERS, OTHERS, SUBTRACTS, OTHERS, ADDS,   WITH_CARRY, WITH_CARRY, WITH_CARRY,
		TESTS,  TESTS,  COMPARES,  TESTS,  OTHERS, MOVES,      OTHERS,     INVERTS};
	unsigned kind = kinds[field(word, 21, 4)];
	uint32_t to = field(word, 12, 4), a = field(word, 16, 4);
	int left = (word & 0x70) == 0 ? (int)field(word, 7, 5) : -1;

	if (field(word, 20, 1))
		op->also = BIT(SCAN_FLAGS);
	if (field(word, 25, 1)) {
		compute_by_value(op, kind, to, a, rotate(word & 0xff, field(word, 8, 4) * 2), pc);
		return;
	}
	compute_by_register(op, kind, to, a, word & 15, left);
	op->reads |= word & 16 ? BIT(field(word, 8, 4)) : 0;
	if (kind == ADDS && to == PC && a == PC && left == 2) {
		op->flow = SCAN_TABLE;
		op->value = SCAN_TABLE_JUMPS;
		op->target = pc;
	}
}

/* What has no place among those that compute. */
static void decode_miscellaneous(struct scan_op *op, uint32_t word)
{
	uint32_t to = field(word, 12, 4), value = field(word, 16, 4) << 12 | (word & 0xfff);

	if ((word & 0x0ff00000) == 0x03000000) { // movw
		compute_by_value(op, MOVES, to, SCAN_ZERO, value, 0);
	} else if ((word & 0x0ff00000) == 0x03400000) { // movt
		compute(op, OTHERS, to, to);
		op->what = SCAN_HIGH;
		op->value = (int32_t)(value << 16);
	} else if ((word & 0x0fffffd0) == 0x012fff10) { // bx, blx
		op->reads = BIT(word & 15);
		op->flow = word & 32 ? SCAN_CALL : (word & 15) == LR ? SCAN_RETURN : SCAN_LEAVE;
	} else if ((word & 0x0ff000f0) == 0x01600010 || (word & 0x0fb000f0) == 0x01000000) {
		op->to = (uint8_t)to; // clz, mrs
		op->reads = field(word, 4, 1) ? BIT(word & 15) : 0;
	} else if ((word & 0x0f900090) == 0x01000080) { // products of halves
		op->to = (uint8_t)field(word, 16, 4);
		op->reads = BIT(word & 15) | BIT(field(word, 8, 4));
	}
}

static void decode_arm_single(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t a = field(word, 16, 4), reg = field(word, 12, 4);
	bool loads = field(word, 20, 1), whole = !field(word, 22, 1), before = field(word, 24, 1),
	     by_register = field(word, 25, 1);
	int32_t offset = by_register ? 0 : (int32_t)(word & 0xfff) * (field(word, 23, 1) ? 1 : -1);

	if (by_register && a == PC && reg == PC && loads) {
		op->flow = SCAN_TABLE;
		op->value = SCAN_TABLE_WORDS;
		op->target = pc;
	} else if (a == PC && loads && !by_register) {
		transfer_literal(op, reg, pc, offset, 4);
	} else {
		transfer(op, loads, whole && !by_register, reg, a, before ? offset : 0,
			 !before || field(word, 21, 1) ? offset : 0);
		op->reads |= by_register ? BIT(word & 15) : 0;
	}
}

static void decode_arm(struct scan_op *op, uint32_t word, uint64_t pc)
{
	uint32_t far = word << 2;

	op->units = 2;
	if (word >> 28 == 15) { // barriers, hints; blx
		op->flow = field(word, 25, 3) == 5 ? SCAN_CALL : SCAN_NEXT;
		op->value = 1;
		op->target = pc + (uint64_t)(int64_t)(extend(far, 26) + (int32_t)(word >> 23 & 2));
		return;
	}
	switch (field(word, 25, 3)) {
	case 0:
		if ((word & 0x90) == 0x90) {
			decode_extra(op, word);
			break;
		} // fallthrough
	case 1:
		if ((word & 0x01900000) == 0x01000000)
			decode_miscellaneous(op, word);
		else
			decode_computing(op, word, pc);
		break;
	case 3:
		if (word & 16) { // bit fields, extensions, products of parts
			op->to = (uint8_t)field(word, field(word, 23, 2) == 2 ? 16 : 12, 4);
			op->reads = BIT(word & 15);
			if ((word & 0x0ff000f0) == 0x07f000f0) { // undefined: a trap
				op->to = SCAN_ZERO;
				op->flow = SCAN_LEAVE;
			}
			break;
		} // fallthrough
	case 2:
		decode_arm_single(op, word, pc);
		break;
	case 4:
		transfer_list(op, word);
		break;
	case 5:
		op->flow = field(word, 24, 1) ? SCAN_CALL : SCAN_JUMP;
		op->target = pc + (uint64_t)(int64_t)extend(far, 26);
		break;
	default:
		decode_coprocessor(op, word, pc);
	}
	if (word >> 28 != 14) {
		op->conditional = true;
		op->reads |= BIT(SCAN_FLAGS);
	}
}

void scan_decode(uint32_t word, uint64_t pc, struct scan_op *ret)
{
	*ret = (struct scan_op){.units = 1, .to = SCAN_ZERO, .a = SCAN_ZERO, .b = SCAN_ZERO};
	if (!(pc & 1))
		decode_arm(ret, word, pc + 8);
	else if ((word & 0xf800) < 0xe800)
		decode_half(ret, word & 0xffff, pc + 3);
	else
		decode_word(ret, rotate(word, 16), pc + 3);
}
