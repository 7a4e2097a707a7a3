/*
 * Where in a function to set a probe, so that it costs little; and what else is to be known of a
 * function's instructions. Each architecture has its own: ebpf/arch/<cpu>/probe_place.c.
 *
 * The kernel emulates some instructions when they are probed (x86-64: push, nop, jmp, jcc, call;
 * AArch64: branches, adrp, ret): 0.5 us where measured. It steps over a copy of any other one, by
 * more traps: 3.8 us. So a probe slides forward from the function's first instruction to the first
 * one that the kernel emulates:
 *
 *	free:	test %rdi,%rdi		passed: changes neither rsp nor an argument
 *	free+3:	je   free+0x88		the probe stands here
 */
#ifndef MALLOW_EBPF_ARCH_PROBE_PLACE_H
#define MALLOW_EBPF_ARCH_PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The offset at which a probe at the function's entry is to stand; 0: at the entry, nothing is
 * better or a part of the function is not understood. code: the function's bytes, all of them.
 *
 * At that instruction sp, the registers of the first six arguments and, if there is one, that of
 * the return address are as at the entry. Each call passes it once: no jump in the function leads
 * to it, or between it and the entry. (Jumps through a register or memory are not followed. For one
 * of them to lead there, the function would have to begin with a loop around a jump table.)
 */
size_t probe_place_entry(const uint8_t *code, size_t size);

/* How a function can be left. */
struct probe_exit {
	uint32_t offset; /* of the ret, or of the jump */
	bool jumps;      /* it jumps to another function (a tail call) … */
	uint64_t target; /* … at this address, as `address` counts; 0 for a ret */
};

#define PROBE_EXITS_MAX 64

/*
 * Finds the instructions by which a function of size bytes at that address is left: each ret, and
 * each jump to an address outside the function. A conditional jump counts too, though the function
 * goes on behind it when the condition is false. Jumps through a register or memory are left out:
 * those lead to a table within the function, or nobody knows where.
 *
 * *ret_count: how many there are, by rising offset. 0: a call ends by throwing, or in a function
 * that does not return. false: more than PROBE_EXITS_MAX, or an instruction that is not understood;
 * then ret may have been written to.
 */
bool probe_place_exits(const uint8_t *code, size_t size, uint64_t address,
		       struct probe_exit ret[PROBE_EXITS_MAX], size_t *ret_count);

enum code_jump_kind {
	CODE_JUMP_NONE,    /* it is another instruction */
	CODE_JUMP_DIRECT,  /* to the address */
	CODE_JUMP_BY_SLOT, /* to what is stored at the address */
	CODE_JUMP_UNKNOWN,
};

struct code_jump {
	enum code_jump_kind kind;
	uint64_t address;
};

/* The most bytes that probe_place_jump() looks at. */
#define CODE_JUMP_MAX 32

/* The jump that code at that address begins with, as stubs of the procedure linkage table do. */
struct code_jump probe_place_jump(const uint8_t *code, size_t size, uint64_t address);

/*
 * Where in a function mallow's agent puts a jump when it patches the entry (agent/patch), and the
 * jump's first byte. 0: nowhere, or such a byte is there anyway.
 */
size_t probe_place_patch(const uint8_t *code, size_t size, uint8_t *jump);

#endif
