/* MIPS64's instructions, release 1 to 5 (MD00087), as far as frames are concerned. See scan.h. */
#include "cfi/scan.h"

#include "base/bytes.h"
#include "cfi/mips64/scan_cpu.h"

#define BIT(n) (1u << (n))

enum { RA = 31 };

static uint32_t fields(uint32_t word, unsigned shift)
{
	return word >> shift & 31;
}

/* SPECIAL: the operation is in the lowest six bits. */
static void decode_special(uint32_t word, struct scan_op *op)
{
	uint32_t rs = fields(word, 21), rt = fields(word, 16), rd = fields(word, 11);

	op->a = (uint8_t)rs;
	op->b = (uint8_t)rt;
	op->to = (uint8_t)rd;
	op->reads = BIT(rs) | BIT(rt);
	switch (word & 63) {
	case 0x08: // jr
		op->to = 0;
		op->flow = rs == RA ? SCAN_RETURN : SCAN_LEAVE;
		break;
	case 0x09: // jalr
		op->flow = rd == RA   ? SCAN_CALL
			   : rd       ? SCAN_NEXT
			   : rs == RA ? SCAN_RETURN
				      : SCAN_LEAVE;
		break;
	case 0x00: // sll
	case 0x38: // dsll
		op->what = SCAN_SHIFT;
		op->a = (uint8_t)rt;
		op->value = (int32_t)fields(word, 6);
		break;
	case 0x21: // addu
	case 0x2d: // daddu
		op->what = SCAN_SUM;
		break;
	case 0x23: // subu
	case 0x2f: // dsubu
		op->what = SCAN_LESS;
		break;
	case 0x25:
		op->what = SCAN_OR;
		break;
	case 0x0c: // syscall
	case 0x0d: // break
	case 0x0f: // sync
		op->to = 0;
		op->reads = 0;
		break;
	case 0x11: // mthi
	case 0x13: // mtlo
	case 0x18: // mult and div of all kinds
	case 0x19:
	case 0x1a:
	case 0x1b:
	case 0x1c:
	case 0x1d:
	case 0x1e:
	case 0x1f:
	case 0x30: // traps
	case 0x31:
	case 0x32:
	case 0x33:
	case 0x34:
	case 0x36:
		op->to = 0;
		break;
	}
}

/* Bit manipulation, rdhwr, loads of DSP. */
static void decode_special3(uint32_t word, struct scan_op *op)
{
	uint32_t rs = fields(word, 21), rt = fields(word, 16), rd = fields(word, 11),
		 function = word & 63;

	op->to = (uint8_t)(function < 8 || function == 0x3b ? rt : rd);
	op->reads = function < 4 ? BIT(rs) : function < 8 ? BIT(rs) | BIT(rt) : BIT(rt);
}

static void decode_coprocessor(uint32_t word, struct scan_op *op)
{
	uint32_t rs = fields(word, 21), rt = fields(word, 16);

	if (rs <= 3) // mfc1 and its kin
		op->to = (uint8_t)rt;
	else if (rs <= 7)
		op->reads = BIT(rt);
	else if (rs == 8) // bc1f, bc1t
		op->flow = rt & 2 ? SCAN_LIKELY : SCAN_BRANCH;
}

static void decode_branch(uint32_t word, uint32_t opcode, struct scan_op *op)
{
	uint32_t rs = fields(word, 21), rt = fields(word, 16);

	op->reads = BIT(rs);
	switch (opcode) {
	case 0x01: // REGIMM
		if (rt < 4)
			op->flow = rt < 2 ? SCAN_BRANCH : SCAN_LIKELY;
		else if (rt >= 0x10 && rt <= 0x13)
			op->flow = SCAN_CALL;
		break;
	case 0x04: // beq
	case 0x05: // bne
		op->reads |= BIT(rt);
		op->flow = opcode == 4 && rs == rt ? SCAN_JUMP : SCAN_BRANCH;
		break;
	case 0x14: // beql
	case 0x15: // bnel
		op->reads |= BIT(rt);
		op->flow = opcode == 0x14 && rs == rt ? SCAN_JUMP : SCAN_LIKELY;
		break;
	default:
		op->flow = opcode < 8 ? SCAN_BRANCH : SCAN_LIKELY;
	}
}

static void decode_immediate(uint32_t word, uint32_t opcode, struct scan_op *op)
{
	op->to = (uint8_t)fields(word, 16);
	op->a = (uint8_t)fields(word, 21);
	op->reads = BIT(op->a);
	op->value = (int16_t)word;
	switch (opcode) {
	case 0x08: // addi
	case 0x09: // addiu
	case 0x18: // daddi
	case 0x19: // daddiu
		op->what = SCAN_PLUS;
		break;
	case 0x0d: // ori
		op->what = SCAN_OR_VALUE;
		op->value = (uint16_t)word;
		break;
	case 0x0f: // lui
		op->what = SCAN_CONSTANT;
		op->reads = 0;
		op->value = (int32_t)(word << 16);
		break;
	}
}

static void decode_memory(uint32_t word, uint32_t opcode, struct scan_op *op)
{
	uint32_t base = fields(word, 21), rt = fields(word, 16);
	bool loads = (opcode >= 0x20 && opcode <= 0x27) || opcode == 0x1a || opcode == 0x1b ||
		     opcode == 0x30 || opcode == 0x34 || opcode == 0x37;
	// lwl and its kin keep a part of the register; those of floating point have other
	// registers.
	bool reads_rt = opcode == 0x22 || opcode == 0x26 || opcode == 0x1a || opcode == 0x1b ||
			(opcode >= 0x28 && opcode <= 0x2e) || opcode == 0x38 || opcode == 0x3c ||
			opcode == 0x3f;

	op->memory = true;
	op->a = (uint8_t)base;
	op->b = (uint8_t)rt;
	op->value = (int16_t)word;
	op->reads = BIT(base) | (reads_rt ? BIT(rt) : 0);
	if (loads || opcode == 0x38 || opcode == 0x3c) // sc and scd say whether they did
		op->to = (uint8_t)rt;
	if (opcode == 0x37)
		op->what = SCAN_LOAD;
	else if (opcode == 0x3f)
		op->what = SCAN_STORE;
}

void scan_decode(uint32_t word, uint64_t pc, struct scan_op *ret)
{
	uint32_t opcode = word >> 26;

	*ret = (struct scan_op){.units = 1,
				.target = pc + 4 + (uint64_t)((int64_t)(int16_t)word * 4)};
	if (opcode == 0) {
		decode_special(word, ret);
	} else if (opcode == 2 || opcode == 3) {
		ret->target = ((pc + 4) & ~UINT64_C(0xfffffff)) | (word & 0x3ffffff) << 2;
		ret->flow = opcode == 2 ? SCAN_JUMP : SCAN_CALL;
	} else if (opcode < 8 || (opcode >= 0x14 && opcode <= 0x17)) {
		decode_branch(word, opcode, ret);
	} else if (opcode < 0x10 || opcode == 0x18 || opcode == 0x19) {
		decode_immediate(word, opcode, ret);
	} else if (opcode == 0x11 || opcode == 0x12) {
		decode_coprocessor(word, ret);
	} else if (opcode == 0x13) { // indexed floating point
		ret->reads =
			BIT(fields(word, 21)) | ((word & 63) < 0x20 ? BIT(fields(word, 16)) : 0);
	} else if (opcode == 0x1c) { // SPECIAL2: clz and its kin; madd and its kin have no register
		ret->to = (uint8_t)((word & 63) < 6 && (word & 63) != 2 ? 0 : fields(word, 11));
		ret->reads = BIT(fields(word, 21)) | BIT(fields(word, 16));
	} else if (opcode == 0x1f) {
		decode_special3(word, ret);
	} else if (opcode >= 0x1a) {
		decode_memory(word, opcode, ret);
	}
}

#define LOOK_BACK    60000 /* instructions */
#define LOOK_ON      2048
#define LOOK_AHEAD   40
#define FUNCTION_MAX 8192 /* bytes from a function's start to its gp */

/*
 * The start of the function that makes gp by these instructions, of which the first is at i:
 *
 *	lui r,hi; daddu q,r,t9; daddiu gp,q,lo	t9: the function's address; gp = t9 + hi:lo
 *
 * 0: they are others.
 */
static uint64_t start_by_gp(const struct scan_text *text, size_t i)
{
	uint32_t lui = bytes_load(uint32_t, text->bytes + i * 4);
	uint32_t from = fields(lui, 16), sum = 0;
	size_t end = i + LOOK_AHEAD < text->size / 4 ? i + LOOK_AHEAD : text->size / 4;

	for (size_t at = i + 1; at < end; at++) {
		uint32_t word = bytes_load(uint32_t, text->bytes + at * 4), rs = fields(word, 21),
			 rt = fields(word, 16);
		uint64_t start, here = text->address + i * 4;
		struct scan_op op;

		if (!sum && (word & 0xfc00003f) == 0x2d &&
		    ((rs == from && rt == SCAN_FUNCTION) || (rt == from && rs == SCAN_FUNCTION))) {
			sum = fields(word, 11);
			continue;
		}
		if (sum && word >> 26 == 0x19 && rs == sum) {
			start = text->anchor -
				(uint64_t)((int64_t)(int32_t)(lui << 16) + (int16_t)word);
			return start % 4 == 0 && start <= here && here - start < FUNCTION_MAX &&
					       start >= text->address
				       ? start
				       : 0;
		}
		scan_decode(word, 0, &op);
		if (op.to && op.to == (sum ? sum : from))
			return 0;
	}
	return 0;
}

/* The same, with a look whether it may be one. */
static uint64_t named_start(const struct scan_text *text, size_t i)
{
	return text->anchor && bytes_load(uint32_t, text->bytes + i * 4) >> 21 == 0x3c000000u >> 21
		       ? start_by_gp(text, i)
		       : 0;
}

void scan_find_starts(const struct scan_text *text, uint64_t pc, uint64_t *start, uint64_t *end)
{
	size_t at = (pc - text->address) / 4, first = at > LOOK_BACK ? at - LOOK_BACK : 0;
	size_t last = text->size / 4 - at > LOOK_ON ? at + LOOK_ON : text->size / 4;

	*start = 0;
	*end = text->address + last * 4;
	for (size_t i = at + 1; i-- > first && !*start;)
		*start = named_start(text, i);
	for (size_t i = at + 1; i < last; i++) {
		uint64_t found = named_start(text, i);

		if (found > pc) {
			*end = found;
			break;
		}
		// A function makes gp behind its first instructions.
		if (found)
			*start = found;
	}
}
