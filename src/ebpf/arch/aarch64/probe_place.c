/* Instructions have 4 bytes; their numbers are those of Arm's DDI 0487, chapter C4. */
#include "ebpf/arch/probe_place.h"

#include "base/bytes.h"

/* Where a branch leads, relative to itself. false: the instruction is none, or a call. */
static bool branch_target(uint32_t word, int64_t *ret)
{
	unsigned bits, lowest = 5;

	if ((word & 0xfc000000) == 0x14000000) // b
		bits = 26, lowest = 0;
	else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		bits = 19; // b.cond; cbz, cbnz
	else if ((word & 0x7e000000) == 0x36000000)
		bits = 14; // tbz, tbnz
	else
		return false;
	*ret = ((int64_t)((uint64_t)word << (64 - bits - lowest)) >> (64 - bits)) * 4;
	return true;
}

static bool is_return(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff; // ret, retaa
}

static bool is_indirect_jump(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff800) == 0xd61f0800; // br, braa
}

/* As Linux decides in arch/arm64/kernel/probes/decode-insn.c. */
static bool kernel_emulates(uint32_t word)
{
	int64_t target;

	return branch_target(word, &target) || is_return(word) || is_indirect_jump(word) ||
	       (word & 0xfc000000) == 0x94000000 || // bl
	       (word & 0xfffffc1f) == 0xd63f0000 || // blr
	       (word & 0x1f000000) == 0x10000000;   // adr, adrp
}

/* Whether it changes nothing but flags, or one of x8 to x15: no argument, nor sp or x30. */
static bool keeps_arguments(uint32_t word)
{
	unsigned result = word & 31;
	// Of an immediate, but not with sp: add, sub, and, orr, eor, mov; of registers: the same.
	bool immediate = (word & 0x1c000000) == 0x10000000 && (word & 0x1f000000) != 0x10000000;
	bool registers = (word & 0x0e000000) == 0x0a000000;
	bool loads = (word & 0x3fc00000) == 0x39400000;
	bool compares = (word & 0x7f800000) == 0x71000000 || (word & 0x7f800000) == 0x72000000 ||
			(word & 0x7f200000) == 0x6b000000 || (word & 0x7f200000) == 0x6a000000;

	if ((word & 0xffffff3f) == 0xd503241f || word == 0xd503201f) // bti, nop
		return true;
	if (compares && result == 31)
		return true;
	return (immediate || registers || loads) && result >= 8 && result <= 15;
}

/* No branch in the function leads to a place after its first byte, up to `last`. */
static bool is_straight(const uint8_t *code, size_t size, size_t last)
{
	int64_t target;

	for (size_t at = 0; at + 4 <= size; at += 4)
		if (branch_target(bytes_u32(code + at), &target) &&
		    (uint64_t)at + (uint64_t)target - 1 < last)
			return false;
	return true;
}

size_t probe_place_entry(const uint8_t *code, size_t size)
{
	for (size_t at = 0; at + 4 <= size; at += 4) {
		uint32_t word = bytes_u32(code + at);

		if (kernel_emulates(word))
			return at && is_straight(code, size, at) ? at : 0;
		if (!keeps_arguments(word))
			return 0;
	}
	return 0;
}

/* No instruction, or one that reads a constant from between functions' instructions. */
static bool may_be_data(uint32_t word)
{
	return word >> 16 == 0 || (word & 0x3b000000) == 0x18000000; // udf; ldr of a literal
}

bool probe_place_exits(const uint8_t *code, size_t size, uint64_t address,
		       struct probe_exit ret[PROBE_EXITS_MAX], size_t *ret_count)
{
	size_t count = 0;

	if (size > UINT32_MAX || size % 4)
		return false;
	for (size_t at = 0; at < size; at += 4) {
		uint32_t word = bytes_u32(code + at);
		int64_t distance = 0;
		bool jumps = branch_target(word, &distance);
		uint64_t target = at + (uint64_t)distance; // before the function: wraps

		if (may_be_data(word))
			return false;
		jumps = jumps && target >= size;
		if (!jumps && !is_return(word))
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

/* adrp x16, page; ldr x17, [x16, #offset]; add x16, …; br x17 */
static struct code_jump jump_by_slot(const uint8_t *code, size_t size, uint64_t address)
{
	uint32_t page, load;
	int64_t pages;

	if (size < 16 || !is_indirect_jump(bytes_u32(code + 12)))
		return (struct code_jump){CODE_JUMP_NONE, 0};
	page = bytes_u32(code);
	load = bytes_u32(code + 4);
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return (struct code_jump){CODE_JUMP_NONE, 0};
	pages = (int64_t)((uint64_t)(page >> 5 & 0x7ffff) << 45) >> 43 | (page >> 29 & 3);
	return (struct code_jump){CODE_JUMP_BY_SLOT, (address & ~UINT64_C(0xfff)) +
							     ((uint64_t)pages << 12) +
							     (load >> 10 & 0xfff) * 8};
}

struct code_jump probe_place_jump(const uint8_t *code, size_t size, uint64_t address)
{
	size_t at = size >= 4 && (bytes_u32(code) & 0xffffff3f) == 0xd503241f ? 4 : 0; // bti
	int64_t target;
	uint32_t word;

	if (size < at + 4)
		return (struct code_jump){CODE_JUMP_NONE, 0};
	word = bytes_u32(code + at);
	if ((word & 0xfc000000) == 0x14000000 && branch_target(word, &target))
		return (struct code_jump){CODE_JUMP_DIRECT, address + at + (uint64_t)target};
	if (is_indirect_jump(word))
		return (struct code_jump){CODE_JUMP_UNKNOWN, 0};
	return jump_by_slot(code + at, size - at, address + at);
}

/* The agent patches no entries here. */
size_t probe_place_patch(const uint8_t *code, size_t size, uint8_t *jump)
{
	*jump = 0;
	return 0;
}
