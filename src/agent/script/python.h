/*
 * CPython's own frames. Which functions of a library are Python's, and what its structs look like,
 * depends on the version; all of 3.9 to 3.15 on machines of 64 bits are known, with the lock (GIL).
 *
 * One native frame of the interpreter's loop runs several Python frames (since 3.11): from the one
 * that C code called inwards. Each such run is marked by something that lies in that native frame:
 * a frame without a function of its own (3.12 on, "shim"), or a struct _PyCFrame (3.10, 3.11). 3.9
 * has none; its loop is one function.
 *
 * Sources: CPython's Include/internal/pycore_frame.h, Include/cpython/{code,frameobject,pystate}.h
 * of each version.
 */
#ifndef MALLOW_AGENT_SCRIPT_PYTHON_H
#define MALLOW_AGENT_SCRIPT_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/script/script_runtime.h"

/* Where things lie in the structs of one minor version: offsets in bytes. */
struct python_layout {
	int minor;
	int state_frame;           /* thread state: the current frame, or … */
	int current;               /* … a struct that has it here; SCRIPT_NONE: the frame */
	int state_marker;          /* thread state: the innermost struct _PyCFrame */
	int marker_previous;       /* in that: the next one outwards; SCRIPT_NONE: no such struct */
	int code, previous, instr; /* frame */
	int owner, entry;          /* frame: a byte each, by which runs end */
	enum {
		PYTHON_BYTES,   /* instr is a number: of bytes … */
		PYTHON_UNITS,   /* … of instructions of two bytes … */
		PYTHON_POINTER, /* … or it points into the bytecode */
	} instr_kind;
	int file, name, first_line, lines; /* code; name: the qualified one, if it has that */
	int bytecode, version;             /* code; SCRIPT_NONE: it has none */
	int ascii_text, text;              /* strings: where ASCII, and other text begins */
};

/* NULL: there is no Python, or not one that is known. Set once. */
extern const struct python_layout *python_layout __attribute__((visibility("hidden")));

struct script_found python_look(bool opening);

#endif
