/*
 * CPython's own frames, read where the interpreter keeps them: without its functions (but one), its
 * lock, or memory of ours. Which functions of a library are Python's, and what its structs look
 * like, depends on the version; all of 3.9 to 3.15 on machines of 64 bits are known, with the lock
 * (GIL). Of others no Python frames are shown, and this is said once.
 *
 *   thread state ──► frame ──previous──► frame ──► … the outermost
 *                      │ code ──► file, name, first line, table of lines
 *                      │ instr    where in the code's bytecode
 *
 * One native frame of the interpreter's loop runs several Python frames (since 3.11): from the one
 * that C code called inwards. Each such run is marked by something that lies in that native frame,
 * its *marker*: a frame without a function of its own (3.12 on, "shim"), or a struct _PyCFrame
 * (3.10, 3.11). So the native frame is found by the marker's address. 3.9 has none.
 *
 * Sources: CPython's Include/internal/pycore_frame.h, Include/cpython/{code,frameobject,pystate}.h
 * of each version.
 */
#ifndef MALLOW_AGENT_SCRIPT_PYTHON_H
#define MALLOW_AGENT_SCRIPT_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "base/bytes.h"

#define PYTHON_NONE (-1)

/* Where things lie in the structs of one minor version: offsets in bytes. */
struct python_layout {
	int minor;
	int state_frame;           /* thread state: the current frame, or … */
	int current;               /* … a struct that has it here; PYTHON_NONE: the frame */
	int state_marker;          /* thread state: the innermost struct _PyCFrame */
	int marker_previous;       /* in that: the next one outwards; PYTHON_NONE: no such struct */
	int code, previous, instr; /* frame */
	int owner, entry;          /* frame: a byte each; see script_stack.c, ends_run() */
	enum {
		PYTHON_BYTES,   /* instr is a number: of bytes … */
		PYTHON_UNITS,   /* … of instructions of two bytes … */
		PYTHON_POINTER, /* … or it points into the bytecode */
	} instr_kind;
	int file, name, first_line, lines; /* code; name: the qualified one, if it has that */
	int bytecode, version;             /* code; PYTHON_NONE: it has none */
	int ascii_text, text;              /* strings: where ASCII, and other text begins */
};

/* NULL: there is no interpreter, or not one that is known. Set once. */
extern const struct python_layout *python_layout __attribute__((visibility("hidden")));

/* Whether its frames are shown (setting SCRIPT_FRAMES). Atomic. */
enum python_frames {
	PYTHON_HIDDEN = 0, /* or there is no interpreter */
	PYTHON_SHOWN,
	PYTHON_UNBOUND, /* its object is being opened: none of its code may run yet */
};
extern uint8_t python_frames __attribute__((visibility("hidden")));

/*
 * Looks for an interpreter among the objects that are loaded. May be called again and again.
 * opening: some of them are not bound yet.
 */
void python_find(bool opening);

/*
 * *state: where the calling thread's state is. false: it has none, or another thread finalises the
 * interpreter and frees the states of all. first: it is the process's first thread.
 */
bool python_state(bool first, uint64_t *state);

/* A word of memory that is known to be readable. */
static inline uint64_t python_word(uint64_t address, int offset)
{
	return bytes_u64((const void *)(uintptr_t)(address + (uint64_t)offset));
}

static inline uint32_t python_half(uint64_t address, int offset)
{
	return bytes_u32((const void *)(uintptr_t)(address + (uint64_t)offset));
}

/* A code reference, without the tags that 3.14 keeps in its low bits. */
static inline uint64_t python_code_of(const struct python_layout *layout, uint64_t frame)
{
	return python_word(frame, layout->code) & ~UINT64_C(3);
}

/* Where the code is, as the frame says it: comparable, but no offset (python_offset()). */
static inline uint64_t python_instr_of(const struct python_layout *layout, uint64_t frame)
{
	return layout->instr_kind == PYTHON_POINTER ? python_word(frame, layout->instr)
						    : python_half(frame, layout->instr);
}

/* The same as bytes from the start of the bytecode. -1, -2: before its first instruction. */
static inline int32_t python_offset(const struct python_layout *layout, uint64_t code,
				    uint64_t instr)
{
	if (layout->instr_kind == PYTHON_POINTER)
		return (int32_t)(instr - code - (uint64_t)layout->bytecode);
	return (int32_t)instr * (layout->instr_kind == PYTHON_UNITS ? 2 : 1);
}

/* So much is read of a frame, and of a code object. */
#define PYTHON_FRAME_SIZE(layout) ((layout)->minor >= 11 ? 80u : 112u)
#define PYTHON_CODE_SIZE          144u
#define PYTHON_STATE_SIZE         128u
#define PYTHON_MARKER_SIZE        24u

/* Whether an object's first size bytes can be read. */
bool python_can_read(const struct unwind_stack *stack, uint64_t address, uint64_t size);

/* The innermost frame, in whatever memory. 0: none. */
static inline uint64_t python_top(const struct python_layout *layout,
				  const struct unwind_stack *stack, uint64_t state)
{
	uint64_t frame = python_word(state, layout->state_frame);

	if (layout->current == PYTHON_NONE)
		return frame;
	return python_can_read(stack, frame, PYTHON_MARKER_SIZE)
		       ? python_word(frame, layout->current)
		       : 0;
}

/* The code of 3.9's interpreter loop. */
bool python_is_loop(uint64_t pc);

#endif
