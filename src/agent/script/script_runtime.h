/*
 * What an interpreter's own frames look like in memory: of CPython (python.c), PHP (php.c) and Ruby
 * (ruby.c). They are read where the interpreter keeps them, without its lock or memory of ours.
 *
 *   thread state ──► frame ──► frame ──► … the outermost
 *                      │ code ──► file, name, table of lines
 *                      │ instr    where in the code
 *
 * One native frame of the interpreter's loop runs several frames, a *run*: from the one that native
 * code called inwards. Which native frame that is, is found by a *marker* that lies in it, or by
 * its code, where one function is the loop. Frames of a run are all between one that ends it and
 * the next one. Frames of the interpreter's native functions ("internal", "C function") are in the
 * chain, too; no loop runs them.
 *
 * A process has one such runtime here, the first that is found. Of versions that are not known no
 * frames are shown, and this is said once.
 */
#ifndef MALLOW_AGENT_SCRIPT_SCRIPT_RUNTIME_H
#define MALLOW_AGENT_SCRIPT_SCRIPT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "base/bytes.h"

#define SCRIPT_NONE (-1)

/* Runtimes are known for machines of 64 bits and low byte order. */
#define SCRIPT_MACHINE (sizeof(void *) == 8 && !BYTES_BIG_ENDIAN)

struct script_codes;
struct script_lines;

/* What a frame was found to be. */
enum script_kind {
	SCRIPT_UNREADABLE, /* it, or what it says, cannot be read */
	SCRIPT_LOOP,       /* run by the interpreter's loop */
	SCRIPT_LOOP_AGAIN, /* that, and its memory may soon hold other code: look each time */
	SCRIPT_NATIVE,     /* a native function's */
};

/* The chain of a thread. */
struct script_chain {
	uint64_t top;  /* the innermost frame */
	uint64_t end;  /* where the chain ends: not a frame any more */
	bool is_split; /* outer frames may be run on another native stack (PHP's fibers) */
};

/* Texts that a code object has. */
enum script_text { SCRIPT_FILE, SCRIPT_FUNCTION };

/* All numbers are offsets in bytes. */
struct script_runtime {
	/*
	 * Frame: the words that tell it from others. The one at `link` is the address of the next
	 * frame outwards; or, where `stride` is not 0 and frames lie one behind the other, that of
	 * memory in which `mark` lies.
	 */
	int code, instr, link;
	uint64_t instr_bits; /* of the word at `instr` */
	int mark;            /* a byte: in the frame, or behind `link` */
	uint32_t stride;
	uint32_t frame_size; /* so much is read of a frame */
	int same; /* code object: a word that another one at this address does not have */

	/* Which frames end their run: those whose mark is at least so large, or has such a bit. */
	uint8_t end_mark;
	bool end_is_bit;
	bool end_is_beyond; /* it is no frame of the run, but a mark of its end: a marker */

	/* A list of markers; SCRIPT_NONE: there is none. */
	int state_marker, marker_previous;
	int marker_frame; /* the frame that it is for; SCRIPT_NONE: it does not say */
	uint32_t marker_size;
	bool has_loop;        /* no markers: script_is_loop() */
	bool loops_have_runs; /* each native frame of the loop is one of a run, if all are here */

	/*
	 * *state: where the calling thread's state is. false: it has none, or its memory may be
	 * freed. first: it is the process's first thread.
	 */
	bool (*state)(bool first, uint64_t *state);
	uint32_t state_size; /* so much of it is read */
	/* The chain; top 0: the thread runs no script. */
	struct script_chain (*chain)(const struct unwind_stack *stack, uint64_t state);

	/*
	 * What a frame, of which frame_size bytes can be read, says: *hash of function and place;
	 * 0: it is not shown.
	 */
	enum script_kind (*identify)(const struct unwind_stack *stack, struct script_codes *codes,
				     uint64_t frame, uint64_t *hash);
	/* The line of a frame that was identified; 0: not known. */
	uint32_t (*line)(const struct unwind_stack *stack, struct script_codes *codes,
			 struct script_lines *lines, uint64_t frame);
	/*
	 * Copies a text of a code object as UTF-8, without NUL characters and at most room bytes of
	 * it. Returns how many.
	 */
	size_t (*text)(const struct unwind_stack *stack, uint64_t code, enum script_text text,
		       char *to, size_t room);
};

/* NULL: there is no interpreter, or not one that is known. Set once; atomic. */
extern const struct script_runtime *script_runtime __attribute__((visibility("hidden")));

/* Whether its frames are shown (setting SCRIPT_FRAMES). Atomic. */
enum script_frames {
	SCRIPT_HIDDEN = 0, /* or there is no interpreter */
	SCRIPT_SHOWN,
	SCRIPT_UNBOUND, /* its object is being opened: none of its code may run yet */
};
extern uint8_t script_frames __attribute__((visibility("hidden")));

/* What a runtime's own file finds; opening: see script_find(). */
struct script_found {
	const struct script_runtime *runtime; /* NULL: it is not there, or not shown */
	const char *why_not;                  /* not NULL: it is there, and not shown */
	uint64_t code;                        /* not 0: it is there; an address of its code */
};

/* Whether the call before pc is one of the loop. Of runtimes that have has_loop. */
static inline bool script_is_loop(uint64_t pc)
{
	extern uint64_t script_loop[2] __attribute__((visibility("hidden")));

	return pc - 1 - script_loop[0] < script_loop[1] - script_loop[0];
}

/* The loop is the function of that name. */
void script_set_loop(const char *name);

/* The address of a function or variable. 0: none has that name. */
uint64_t script_symbol(const char *name);

/* A word of memory that is known to be readable. */
static inline uint64_t script_word(uint64_t address, int offset)
{
	return bytes_u64((const void *)(uintptr_t)(address + (uint64_t)offset));
}

static inline uint32_t script_half(uint64_t address, int offset)
{
	return bytes_u32((const void *)(uintptr_t)(address + (uint64_t)offset));
}

static inline uint8_t script_byte(uint64_t address, int offset)
{
	return *(const uint8_t *)(uintptr_t)(address + (uint64_t)offset);
}

/* Whether an object's first size bytes can be read. */
bool script_can_read(const struct unwind_stack *stack, uint64_t address, uint64_t size);

#endif
