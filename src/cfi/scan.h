/*
 * Reads code for what unwind tables would say: a second source of rules (unwind_rule.h), for
 * architectures whose libraries have none. Pure functions: they read only the code given, which may
 * hold anything.
 *
 * The code is run forward from a function's start, each instruction once or, for loops, a few
 * times. Of each register it is known whether it is CFA + k, the return address, the caller's fp or
 * a constant. So at each instruction follows where the CFA is, and where the return address and the
 * caller's fp lie.
 *
 *	start:	daddiu sp,sp,-48	sp = CFA - 48
 *		sd     ra,40(sp)	the return address at CFA - 8
 *		sd     s8,32(sp)	the caller's fp at CFA - 16
 *		move   s8,sp		fp = CFA - 48
 *
 * A branch hands on what is known to its target. What no branch leads to, behind a return, has the
 * state of the function's body; or a function begins there. Such states are guesses.
 *
 * Each architecture has its instructions in cfi/<cpu>/scan_decode.c.
 */
#ifndef MALLOW_CFI_SCAN_H
#define MALLOW_CFI_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/unwind_rule.h"

/* --- one instruction, as scan_decode() understands it --- */

enum scan_what {
	SCAN_OTHER,    /* to = something unknown */
	SCAN_CONSTANT, /* to = value */
	SCAN_PLUS,     /* to = a + value */
	SCAN_SUM,      /* to = a + b */
	SCAN_LESS,     /* to = a - b */
	SCAN_OR,       /* to = a | b */
	SCAN_OR_VALUE, /* to = a | value */
	SCAN_SHIFT,    /* to = a << value */
	SCAN_STORE,    /* *(a + value) = b, a whole word */
	SCAN_LOAD,     /* to = *(a + value), a whole word */
};

enum scan_flow {
	SCAN_NEXT,
	SCAN_CALL,
	SCAN_BRANCH, /* perhaps to target */
	SCAN_LIKELY, /* perhaps to target; only then the next instruction is executed */
	SCAN_JUMP,   /* to target */
	SCAN_RETURN,
	SCAN_LEAVE, /* to where a register leads */
};

struct scan_op {
	uint8_t what, flow;
	uint8_t to; /* 0: no register is written */
	uint8_t a, b;
	bool memory; /* reads or writes it, by register a */
	int32_t value;
	uint32_t reads; /* a bit for each register */
	uint64_t target;
};

void scan_decode(uint32_t word, uint64_t pc, struct scan_op *ret);

/* --- where functions begin --- */

struct scan_text {
	const uint8_t *bytes;
	uint64_t address, size;
	uint64_t anchor; /* MIPS: _gp, from which code counts its own address; 0: not known */
};

/*
 * Starts of functions that the code itself names: MIPS's position-independent functions make gp of
 * their own address. *start: the nearest one at or before pc; 0: none is near. *end: the next one
 * behind pc, or where the search for it ended.
 */
void scan_find_starts(const struct scan_text *text, uint64_t pc, uint64_t *start, uint64_t *end);

/* --- a function --- */

/* What is known before an instruction. Offsets of slots from the CFA, in words, below 0; 0: there
 * is none. */
struct scan_state {
	int32_t sp, fp; /* minus the CFA, if flags say that they are known */
	int16_t ra_slot, fp_slot;
	uint8_t flags;
	uint8_t guess; /* enum scan_guess */
	uint8_t met;   /* how the scan came there */
};

enum scan_flags { SCAN_SP = 1, SCAN_FP = 2, SCAN_CALLERS_FP = 4, SCAN_RA_IN_REGISTER = 8 };

enum scan_guess {
	SCAN_SURE,
	SCAN_OF_BODY, /* no way leads there: the state is that of the function's body */
	SCAN_BEGUN,   /* a function that nobody names seems to begin there */
};

struct scan_code {
	const uint8_t *bytes; /* instructions */
	uint64_t address;     /* where the first one lies: a function begins there */
	size_t count;         /* of instructions */
	bool open;            /* other functions may follow, whose starts are not known */
};

/*
 * The code to read for what holds at an address of the text: from the function's start, if that is
 * found, else from far before it, up to the next function that names its start. Returns whether the
 * start is found.
 */
bool scan_place(const struct scan_text *text, uint64_t address, struct scan_code *ret);

/*
 * Fills states[0 … count). At the last instruction of a call (the delay slot) is what holds when
 * the call returns: a walk asks there.
 */
void scan_run(const struct scan_code *code, struct scan_state *states);

/* The rule of a state. false: nothing is known there. */
bool scan_rule(const struct scan_state *state, struct unwind_rule *ret);

#endif
