/*
 * How the entry of a function is patched, so that each of its calls comes to a hook first.
 *
 *	the function          as patched             moved code, near it
 *	free:   push %rbx     push %rbx              push %rbx
 *	free+1: mov %rdi,%rbx jmp stub ──► stub      mov %rdi,%rbx
 *	free+4: test %rdi,%rdi …                     test %rdi,%rdi
 *	free+7: je …          je …                   jmp free+7
 *
 * The jump stands behind the first instruction, which runs in its place: probes of the kernel
 * (uprobes) on the function's entry find it there, and run it. The stub takes back what it did and
 * goes on as if the function had just been called. Who calls the moved code calls the function as
 * it was.
 */
#ifndef MALLOW_ALLOCATORS_X86_64_ENTRY_H
#define MALLOW_ALLOCATORS_X86_64_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENTRY_JUMP_SIZE  5
#define ENTRY_JUMP_CODE  0xe9 /* its first byte */
#define ENTRY_MOVED_SIZE 96   /* the most bytes that moved code has */
#define ENTRY_STUB_SIZE  24   /* the same of a stub */
#define ENTRY_STEPS      12   /* the most instructions that are moved */

struct entry_plan {
	const char *refusal; /* why it cannot be patched; static. NULL: it can */
	uint8_t jump;        /* where the jump stands */
	uint8_t end;         /* where the first instruction behind it stands */
	bool calls;          /* a call is moved: not where shadow stacks are on */
	int32_t pushed;      /* the bytes by which rsp is lower at the jump than at the entry */
	uint64_t leads_to;   /* refused, because it only jumps to this address; else 0 */
};

/*
 * Plans it. code: the function's bytes; size: how many of them are the function's; readable: how
 * many there are, since padding behind a short function is used. address: of the function, in the
 * numbers of which leads_to is. arguments: how many the function has, in registers; needed: which
 * of them the hook must find as they were, a bit for each.
 */
struct entry_plan entry_plan_make(const uint8_t *code, size_t size, size_t readable,
				  uint64_t address, unsigned int arguments, unsigned int needed);

/*
 * Whether a part of the function elsewhere (what a compiler takes to be rare, in NAME.cold) jumps
 * back into what the jump covers. code(): the code at an address, as it is read for the function
 * itself; NULL: none. Follows the jumps that leave the function, and those from there, as far as
 * ENTRY_FOLLOWED instructions: what is further away is another function, by a call at its end.
 */
#define ENTRY_FOLLOWED 4096
typedef const uint8_t *entry_code(const void *file, uint64_t address, size_t *readable);
bool entry_is_jumped_into(const struct entry_plan *plan, uint64_t address, size_t size,
			  entry_code *code, const void *file);

/*
 * Where a moved instruction stands, and where it stood, from the beginning of both; at last where
 * the moved code goes on to.
 */
struct entry_step {
	uint8_t moved, original;
};

/*
 * Writes what a plan moves, from code at `from`, to out, which will run at `to`. steps: of each
 * instruction, ENTRY_STEPS of them, those that are not used 0. Returns its size; 0: it cannot be
 * moved there, because something that it refers to is too far away.
 */
size_t entry_move(const struct entry_plan *plan, const uint8_t *code, uint64_t from,
		  uint8_t out[ENTRY_MOVED_SIZE], uint64_t to, struct entry_step *steps);

/*
 * Writes a stub to out, which will run at `to`: it pushes rbp, puts `data` there, and jumps to the
 * address that is stored at `target`. No other register changes, nor does it matter what flags are.
 * Returns its size; 0: one of the two is too far away.
 */
#define ENTRY_STUB_PUSHES(plan) ((plan)->pushed ? 8 : 0) /* where it pushes rbp */
size_t entry_stub(const struct entry_plan *plan, uint8_t out[ENTRY_STUB_SIZE], uint64_t to,
		  uint64_t data, uint64_t target);

/* The jump that stands at `from`. false: the target is too far away. */
bool entry_jump(uint8_t out[ENTRY_JUMP_SIZE], uint64_t from, uint64_t target);

#endif
