#include "ebpf/arch/probe_place.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "allocators/x86_64/entry.h"
#include "allocators/x86_64/instruction_effect.h"

/*
 * The nops that Linux emulates, by their length: all nine since 6.16, the first two before that.
 * Any other nop is passed.
 */
static bool is_known_nop(const uint8_t *code, size_t length)
{
	static const uint8_t nops[][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40},
		{0x0f, 0x1f, 0x44},
		{0x66, 0x0f, 0x1f, 0x44},
		{0x0f, 0x1f, 0x80},
		{0x0f, 0x1f, 0x84},
		{0x66, 0x0f, 0x1f, 0x84},
	};

	return length <= ARRAY_COUNT(nops) && !memcmp(code, nops[length - 1], length);
}

/* As Linux decides in arch/x86/kernel/uprobes.c. It refuses probes at the first two prefixes. */
static bool kernel_emulates(const uint8_t *code, const struct x86_instruction *insn)
{
	if (insn->prefixes & (X86_LOCK | X86_OLD_SEGMENT))
		return false;
	switch (insn->kind) {
	case X86_PUSH:
		return insn->length == 1 || (insn->length == 2 && insn->rex == 0x41);
	case X86_NOP:
		return is_known_nop(code, insn->length);
	case X86_JUMP:
	case X86_BRANCH:
	case X86_CALL:
		return !(insn->prefixes & X86_OPERAND_SIZE);
	default:
		return false;
	}
}

/* No jump in the function leads to a place after its first byte, up to `last`. */
static bool is_straight(const uint8_t *code, size_t size, size_t last)
{
	struct x86_instruction insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!x86_instruction_decode(code + at, size - at, &insn))
			return false;
		if (x86_has_target(&insn) && (uint64_t)at + (uint64_t)insn.target - 1 < last)
			return false;
	}
	return true;
}

size_t probe_place_entry(const uint8_t *code, size_t size)
{
	struct x86_instruction insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!x86_instruction_decode(code + at, size - at, &insn))
			return 0;
		if (kernel_emulates(code + at, &insn))
			return at && is_straight(code, size, at) ? at : 0;
		if (!x86_keeps_arguments(&insn, X86_ARGUMENTS))
			return 0;
	}
	return 0;
}

bool probe_place_exits(const uint8_t *code, size_t size, uint64_t address,
		       struct probe_exit ret[PROBE_EXITS_MAX], size_t *ret_count)
{
	struct x86_instruction insn;
	size_t count = 0;

	if (size > UINT32_MAX)
		return false;
	for (size_t at = 0; at < size; at += insn.length) {
		uint64_t target;
		bool jumps;

		if (!x86_instruction_decode(code + at, size - at, &insn))
			return false;
		target =
			at + (uint64_t)insn.target; // before the function: wraps, so not below size
		jumps = (insn.kind == X86_JUMP || insn.kind == X86_BRANCH) && target >= size;
		if (!jumps && insn.kind != X86_RETURN)
			continue;
		if (count == PROBE_EXITS_MAX)
			return false;
		ret[count++] = (struct probe_exit){
			.offset = (uint32_t)at,
			.jumps = jumps,
			.target = jumps ? address + target : 0,
		};
	}
	*ret_count = count;
	return true;
}

struct code_jump probe_place_jump(const uint8_t *code, size_t size, uint64_t address)
{
	struct x86_instruction insn;
	size_t at = 0;

	if (!x86_instruction_decode(code, size, &insn))
		return (struct code_jump){CODE_JUMP_NONE, 0};
	if (insn.kind == X86_ENDBR) {
		at = insn.length;
		if (!x86_instruction_decode(code + at, size - at, &insn))
			return (struct code_jump){CODE_JUMP_NONE, 0};
	}
	if (insn.kind == X86_JUMP)
		return (struct code_jump){CODE_JUMP_DIRECT, address + at + (uint64_t)insn.target};
	if (insn.kind != X86_INDIRECT_JUMP)
		return (struct code_jump){CODE_JUMP_NONE, 0};
	// ModRM 25: through memory at a 32-bit distance from the next instruction.
	if (insn.modrm != 0x25)
		return (struct code_jump){CODE_JUMP_UNKNOWN, 0};

	int32_t distance = (int32_t)bytes_u32(code + at + insn.length - 4);

	return (struct code_jump){CODE_JUMP_BY_SLOT,
				  address + at + insn.length + (uint64_t)(int64_t)distance};
}

size_t probe_place_patch(const uint8_t *code, size_t size, uint8_t *jump)
{
	struct x86_instruction first;

	*jump = ENTRY_JUMP_CODE;
	if (!x86_instruction_decode(code, size, &first) || first.length >= size ||
	    code[first.length] == ENTRY_JUMP_CODE)
		return 0;
	return first.length;
}
