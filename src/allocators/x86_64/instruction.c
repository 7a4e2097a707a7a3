#include "allocators/x86_64/instruction.h"

/* The processor refuses what is longer. */
#define LENGTH_MAX 15

/* The opcode maps, as VEX, EVEX and XOP number them. */
enum map {
	MAP_0F = 1,
	MAP_0F38,
	MAP_0F3A,
	MAP_FP16_5 = 5,
	MAP_FP16_6,
	MAP_XOP_8 = 8,
	MAP_XOP_9,
	MAP_XOP_A,
};

/*
 * What follows an opcode, one letter each; capitals have a ModRM byte, with the SIB byte and the
 * displacement that it asks for.
 *
 *	.  nothing                         M  ModRM
 *	b  imm8                            B  ModRM, imm8
 *	w  imm16                           R  ModRM that always names registers
 *	e  imm16, imm8                     Z  ModRM, imm32
 *	z  imm32, with 66 imm16            F  ModRM; imm8 for its first two operations (f6)
 *	v  as z, with REX.W imm64          G  ModRM; imm32 for its first two operations (f7)
 *	o  an address of 8 bytes, with 67 4
 *	j  rel32
 *	V  ModRM, with VEX or EVEX only
 *	x  invalid, or a prefix
 */
static const char byte_map[] = "MMMMbzxxMMMMbzxx"  // 00
			       "MMMMbzxxMMMMbzxx"  // 10
			       "MMMMbzxxMMMMbzxx"  // 20
			       "MMMMbzxxMMMMbzxx"  // 30
			       "xxxxxxxxxxxxxxxx"  // 40
			       "................"  // 50
			       "xxxMxxxxzZbB...."  // 60
			       "bbbbbbbbbbbbbbbb"  // 70
			       "BZxBMMMMMMMMMMMM"  // 80
			       "..........x....."  // 90
			       "oooo....bz......"  // a0
			       "bbbbbbbbvvvvvvvv"  // b0
			       "BBw.xxBZe.w..bx."  // c0
			       "MMMMxxx.MMMMMMMM"  // d0
			       "bbbbbbbbjjxb...."  // e0
			       "x.xx..FG......MM"; // f0

static const char map_0f[] = "MMMMx.....x.xM.B"  // 00
			     "MMMMMMMMMMMMMMMM"  // 10
			     "RRRRxxxxMMMMMMMM"  // 20
			     "......x.xxxxxxxx"  // 30
			     "MMMMMMMMMMMMMMMM"  // 40
			     "MMMMMMMMMMMMMMMM"  // 50
			     "MMMMMMMMMMMMMMMM"  // 60
			     "BBBBMMM.VVVVMMMM"  // 70
			     "jjjjjjjjjjjjjjjj"  // 80
			     "MMMMMMMMMMMMMMMM"  // 90
			     "...MBMxx...MBMMM"  // a0
			     "MMMMMMMMMMBMMMMM"  // b0
			     "MMBMBBBM........"  // c0
			     "MMMMMMMMMMMMMMMM"  // d0
			     "MMMMMMMMMMMMMMMM"  // e0
			     "MMMMMMMMMMMMMMMM"; // f0

static const uint8_t prefixes[256] = {
	[0x66] = X86_OPERAND_SIZE, [0x67] = X86_ADDRESS_SIZE, [0xf0] = X86_LOCK,
	[0xf2] = X86_REPNE,        [0xf3] = X86_REP,          [0x26] = X86_OLD_SEGMENT,
	[0x2e] = X86_OLD_SEGMENT,  [0x36] = X86_OLD_SEGMENT,  [0x3e] = X86_OLD_SEGMENT,
	[0x64] = X86_SEGMENT,      [0x65] = X86_SEGMENT,
};

/* Reads code. What lies beyond its end is 0, and sets `bad`: checked once, when all is read. */
struct decoder {
	const uint8_t *code;
	size_t size, at;
	bool bad;
	struct x86_instruction insn;
};

static uint8_t take_byte(struct decoder *decoder)
{
	if (decoder->at < decoder->size)
		return decoder->code[decoder->at++];
	decoder->bad = true;
	return 0;
}

/* A number of 0 to 8 bytes, with a sign. */
static int64_t take_number(struct decoder *decoder, unsigned int bytes)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < bytes; i++)
		number |= (uint64_t)take_byte(decoder) << 8 * i;
	if (!bytes || bytes == 8)
		return (int64_t)number;
	return (int64_t)(number << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/*
 * Takes what is left of a VEX, EVEX or XOP prefix, and the opcode. Of the prefix's bits only the
 * map's number matters here; prefixes that it replaces must not stand before it.
 */
static char take_vector(struct decoder *decoder, uint8_t prefix)
{
	struct x86_instruction *insn = &decoder->insn;
	const unsigned int replaced = X86_OPERAND_SIZE | X86_REPNE | X86_REP | X86_LOCK;
	uint8_t byte = take_byte(decoder), opcode;
	unsigned int map = prefix == 0xc5 ? MAP_0F : byte & (prefix == 0x62 ? 15 : 31);

	if (prefix != 0xc5)
		byte = take_byte(decoder);
	if (prefix == 0x62)
		take_byte(decoder);
	opcode = take_byte(decoder);
	insn->opcode = X86_OPCODE_VECTOR;
	if (insn->rex || insn->prefixes & replaced || (prefix == 0x62 && !(byte & 4)) ||
	    (prefix == 0x8f) != (map >= MAP_XOP_8))
		return 'x';
	switch (map) {
	case MAP_0F:
		if (opcode == 0x77) // vzeroupper
			return prefix == 0x62 ? 'x' : '.';
		if (map_0f[opcode] == 'V')
			return 'M';
		return map_0f[opcode] == 'M' || map_0f[opcode] == 'B' ? map_0f[opcode] : 'x';
	case MAP_FP16_5:
	case MAP_FP16_6:
		return prefix == 0x62 ? 'M' : 'x';
	case MAP_0F38:
	case MAP_XOP_9:
		return 'M';
	case MAP_0F3A:
	case MAP_XOP_8:
		return 'B';
	case MAP_XOP_A:
		return 'Z';
	default:
		return 'x';
	}
}

/* Takes all up to the opcode, and tells what follows it. */
static char take_opcode(struct decoder *decoder)
{
	struct x86_instruction *insn = &decoder->insn;
	uint8_t byte = take_byte(decoder);

	for (; prefixes[byte]; byte = take_byte(decoder))
		insn->prefixes |= prefixes[byte];
	if (byte >> 4 == 4) {
		insn->rex = byte;
		byte = take_byte(decoder); // a prefix now would void REX: it is 'x' in the table
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return take_vector(decoder, byte);
	// XOP, where the ModRM byte of pop would have a middle field other than 0
	if (byte == 0x8f && decoder->at < decoder->size && decoder->code[decoder->at] & 0x38)
		return take_vector(decoder, byte);
	insn->opcode = byte;
	if (byte != 0x0f)
		return byte_map[byte];
	byte = take_byte(decoder);
	insn->opcode = 0x0f00 | byte;
	if (byte != 0x38 && byte != 0x3a)
		return map_0f[byte] == 'V' ? 'x' : map_0f[byte];
	insn->opcode = insn->opcode << 8 | take_byte(decoder);
	return byte == 0x38 ? 'M' : 'B';
}

/* Takes the ModRM byte and the address that it describes. */
static void take_modrm(struct decoder *decoder, char layout)
{
	uint8_t modrm = decoder->insn.modrm = take_byte(decoder);
	uint8_t mode = modrm >> 6, base = modrm & 7;
	bool sib = base == 4;

	if (mode == 3 || layout == 'R')
		return;
	if (mode == 0 && base == 5)
		decoder->insn.relative = (uint8_t)decoder->at;
	if (sib)
		base = take_byte(decoder) & 7;
	if (mode == 1)
		take_number(decoder, 1);
	else if (mode == 2 || base == 5) // mode 0, base 5: rip, or with SIB no base at all
		take_number(decoder, 4);
}

static bool has_modrm(char layout)
{
	return layout == 'M' || layout == 'B' || layout == 'R' || layout == 'Z' || layout == 'F' ||
	       layout == 'G';
}

static unsigned int immediate_size(const struct x86_instruction *insn, char layout)
{
	bool wide = insn->rex & X86_REX_W;
	unsigned int full = insn->prefixes & X86_OPERAND_SIZE && !wide ? 2 : 4;
	bool first_two = X86_OPERATION(insn) < 2;

	switch (layout) {
	case 'b':
	case 'B':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'z':
	case 'Z':
		return full;
	case 'v':
		return wide ? 8 : full;
	case 'o':
		return insn->prefixes & X86_ADDRESS_SIZE ? 4 : 8;
	case 'j':
		return 4;
	case 'F':
		return first_two;
	case 'G':
		return first_two ? full : 0;
	default:
		return 0;
	}
}

static enum x86_kind kind_of(const struct x86_instruction *insn)
{
	switch (insn->opcode) {
	case 0x50 ... 0x57:
		return X86_PUSH;
	case 0x70 ... 0x7f:
	case 0x0f80 ... 0x0f8f:
		return X86_BRANCH;
	case 0x90: // with REX.B it exchanges r8 and rax, with f3 it is pause
		return insn->rex & X86_REX_B || insn->prefixes & X86_REP ? X86_ORDINARY : X86_NOP;
	case 0xc2 ... 0xc3:
		return X86_RETURN;
	case 0xc7:
		return insn->modrm == 0xf8 ? X86_LOOP : X86_ORDINARY;
	case 0xe0 ... 0xe3:
		return X86_LOOP;
	case 0xe8:
		return X86_CALL;
	case 0xe9:
	case 0xeb:
		return X86_JUMP;
	case 0xff:
		return X86_OPERATION(insn) / 2 == 1   ? X86_INDIRECT_CALL
		       : X86_OPERATION(insn) / 2 == 2 ? X86_INDIRECT_JUMP
						      : X86_ORDINARY;
	case 0x0f1e:
		return insn->modrm == 0xfa && insn->prefixes & X86_REP ? X86_ENDBR : X86_ORDINARY;
	case 0x0f1f:
		return X86_NOP;
	default:
		return X86_ORDINARY;
	}
}

/* What the tables cannot say. */
static bool is_invalid(const struct x86_instruction *insn)
{
	switch (insn->kind) {
	case X86_JUMP:
	case X86_BRANCH:
	case X86_CALL:
		// 66: AMD's processors take a displacement of 16 bits, Intel's one of 32.
		return insn->prefixes & X86_OPERAND_SIZE && !(insn->rex & X86_REX_W);
	default:
		return (insn->opcode == 0xfe && X86_OPERATION(insn) > 1) ||
		       (insn->opcode == 0xff && X86_OPERATION(insn) == 7);
	}
}

bool x86_instruction_decode(const uint8_t *code, size_t size, struct x86_instruction *ret)
{
	struct decoder decoder = {.code = code, .size = size < LENGTH_MAX ? size : LENGTH_MAX};
	struct x86_instruction *insn = &decoder.insn;
	char layout = take_opcode(&decoder);
	int64_t immediate;

	if (layout == 'x' || decoder.bad)
		return false;
	if (has_modrm(layout))
		take_modrm(&decoder, layout);
	immediate = take_number(&decoder, immediate_size(insn, layout));
	insn->kind = kind_of(insn);
	if (decoder.bad || is_invalid(insn))
		return false;
	insn->length = (uint8_t)decoder.at;
	if (x86_has_target(insn))
		insn->target = insn->length + immediate;
	*ret = *insn;
	return true;
}
