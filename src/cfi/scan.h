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

/* Registers are the machine's. SCAN_ZERO (scan_cpu.h) is 0, or an invented one: what is written to
 * it is lost. */
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
	/* ARM's: */
	SCAN_STORE_LIST, /* the registers of list to a + value and behind it; then a += back */
	SCAN_LOAD_LIST,  /* the same from there */
	SCAN_LITERAL,    /* to = the value bytes of data at target, within the code */
	SCAN_ADDRESS,    /* to = target: perhaps a table's */
	SCAN_COMPARE,    /* a with b + value - 1: perhaps what chooses from a table */
	SCAN_HIGH,       /* to's upper half = value */
};

enum scan_flow {
	SCAN_NEXT,
	SCAN_CALL,   /* to target, or 0; value: 1: ARM's other kind of code */
	SCAN_BRANCH, /* perhaps to target */
	SCAN_LIKELY, /* perhaps to target; only then what depends on it is executed */
	SCAN_JUMP,   /* to target */
	SCAN_RETURN,
	SCAN_LEAVE, /* to where a register leads */
	SCAN_TABLE, /* to where an entry of the table at target leads: value is an enum scan_table
		     */
};

enum scan_table {
	SCAN_TABLE_BYTES = 1,    /* distances from the table, halved */
	SCAN_TABLE_HALVES = 2,   /* the same, of 2 bytes */
	SCAN_TABLE_WORDS = 4,    /* addresses, bit 0: Thumb code */
	SCAN_TABLE_JUMPS = 8,    /* instructions of 4 bytes */
	SCAN_TABLE_OFFSETS = 16, /* distances from the table, of 4 bytes */
};

struct scan_op {
	uint8_t what, flow;
	uint8_t to; /* SCAN_ZERO: no register is written */
	uint8_t a, b;
	uint8_t units;    /* how long it is: in SCAN_UNITs */
	bool memory;      /* reads or writes it, by register a */
	bool conditional; /* it may be not executed */
	uint8_t block;    /* so many instructions behind it may be not executed */
	int32_t value;
	int32_t back;
	uint32_t reads; /* a bit for each register */
	uint32_t also;  /* these become unknown, too */
	uint32_t list;
	uint64_t target;
};

/* word: the instruction, and perhaps what lies behind it. pc, bit 0: Thumb code. */
void scan_decode(uint32_t word, uint64_t pc, struct scan_op *ret);

/* --- where functions begin --- */

struct scan_text {
	const uint8_t *bytes;
	uint64_t address, size;
	uint64_t anchor; /* MIPS: _gp, from which code counts its own address; 0: not known */
	uint8_t *marks; /* ARM: scan_marks_size() bytes, for each halfword whether a function begins
			 */
	bool thumb;     /* ARM: what code is whose state nobody names */
};

/*
 * Starts of functions that are known. MIPS's position-independent functions make gp of their own
 * address; ARM's are marked. *start: the nearest one at or before pc, bit 0: Thumb code; 0: none is
 * near. *end: the next one behind pc, or where the search for it ended.
 */
void scan_find_starts(const struct scan_text *text, uint64_t pc, uint64_t *start, uint64_t *end);

/*
 * ARM, once for a module: the marks are made of all that names functions, in this order. marks is
 * zeroed memory. Addresses have bit 0 for Thumb code, as ELF's symbols do.
 *
 * scan_mark_calls(): where calls lead to. scan_mark_start(): an address from the data or from
 * .ARM.exidx. Both only where the code looks like a function's start. scan_mark_symbol(): a sized
 * symbol is believed, and no other function begins within it.
 */
static inline uint64_t scan_marks_size(const struct scan_text *text)
{
	return text->size / 8 + 1;
}

void scan_mark_calls(const struct scan_text *text);
void scan_mark_start(const struct scan_text *text, uint64_t address);
void scan_mark_symbol(const struct scan_text *text, uint64_t address, uint64_t size);

/* --- a function --- */

/* Registers of the caller that frames save, by their place in slots. */
enum scan_saved { SCAN_SAVED_RA, SCAN_SAVED_FP, SCAN_SAVED_FP2, SCAN_SAVED_MAX };

/* What is known before an instruction. */
struct scan_state {
	int32_t sp, fp;                /* minus the CFA, if flags say that they are known */
	int16_t slots[SCAN_SAVED_MAX]; /* where they are saved, words from the CFA; 0: nowhere */
	uint8_t flags;
	uint8_t guess : 4; /* enum scan_guess */
	uint8_t met : 4;   /* how the scan came there */
};

enum scan_flags {
	SCAN_SP = 1,
	SCAN_FP = 2,
	SCAN_BY_FP2 = 4, /* fp is about the second frame pointer: ARM's r11 */
	SCAN_RA_IN_REGISTER =
		8, /* the registers still have the caller's value: 8 << SCAN_SAVED_… */
	SCAN_CALLERS_FP = 16,
	SCAN_CALLERS_FP2 = 32,
};

enum scan_guess {
	SCAN_SURE,
	SCAN_OF_BODY, /* no way leads there: the state is that of the function's body */
	SCAN_BEGUN,   /* a function that nobody names seems to begin there */
};

struct scan_code {
	const uint8_t *bytes; /* instructions */
	uint64_t address;     /* where the first one lies: a function begins there */
	size_t count;         /* of SCAN_UNITs, of which each has a state */
	bool open;            /* other functions may follow, whose starts are not known */
	bool thumb;           /* ARM: Thumb code, not ARM code */
};

/* The instruction that begins with that unit. */
void scan_op_at(const struct scan_code *code, size_t i, struct scan_op *ret);

/* Whether the code looks like a function's start. */
bool scan_begins(const struct scan_code *code);

/*
 * The code to read for what holds at an address of the text: from the function's start, if that is
 * found, else from far before it, up to the next function that names its start. Returns whether the
 * start is found.
 */
bool scan_place(const struct scan_text *text, uint64_t address, struct scan_code *ret);

/*
 * Fills states[0 … count). At the last unit of a call (MIPS: the delay slot) is what holds when the
 * call returns: a walk asks there.
 */
void scan_run(const struct scan_code *code, struct scan_state *states);

/* The rule of a state. false: nothing is known there. */
bool scan_rule(const struct scan_state *state, struct unwind_rule *ret);

/* Where one of enum scan_saved is. */
void scan_saved_place(const struct scan_state *state, unsigned which, struct rule_place *place,
		      int32_t *offset);

#endif
