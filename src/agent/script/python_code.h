/*
 * CPython's code objects: which function of which file, and which line. Their memory is used again
 * for others as soon as they are gone, and who makes functions all day makes the same ones again
 * and again. So a code object is known by a hash of what it says: file, name, first line and table
 * of lines. Its strings are read while a frame holds it.
 */
#ifndef MALLOW_AGENT_SCRIPT_PYTHON_CODE_H
#define MALLOW_AGENT_SCRIPT_PYTHON_CODE_H

#include "agent/script/python.h"
#include "base/compiler.h"

#define PYTHON_CODES 512 /* as many as a thread remembers: a power of two */

/* What is remembered of a code object, and how it is told that it still is the same. */
struct python_code {
	uint64_t address;
	uint64_t file, name, lines;
	uint32_t first_line, version;
	uint64_t hash;
};

/* Hashes what a code object says. 0: it cannot be read. pair: where it may be remembered. */
uint64_t python_code_hash_slow(const struct python_layout *layout, const struct unwind_stack *stack,
			       uint64_t code, struct python_code pair[2]);

/* The same; known: PYTHON_CODES of the calling thread's own. */
static inline uint64_t python_code_hash(const struct python_layout *layout,
					const struct unwind_stack *stack, uint64_t code,
					struct python_code *known)
{
	struct python_code *pair =
		&known[code * UINT64_C(0x9e3779b97f4a7c15) >> 40 & (PYTHON_CODES - 2)];
	const struct python_code *is = pair + (pair->address != code);

	if (likely(is->address == code && is->file == python_word(code, layout->file) &&
		   is->name == python_word(code, layout->name) &&
		   is->lines == python_word(code, layout->lines) &&
		   is->first_line == python_half(code, layout->first_line) &&
		   (layout->version == PYTHON_NONE ||
		    is->version == python_half(code, layout->version))))
		return is->hash;
	return python_code_hash_slow(layout, stack, code, pair);
}

/*
 * Where the last look into a table of lines ended, so that the next one in the same table, at the
 * same place or behind it, goes on from there: a module may be one table of 100,000 entries, of
 * which each is asked for once. Zero: nowhere.
 */
struct python_lines {
	uint64_t code; /* its hash */
	uint64_t at;   /* bytes of the table */
	int32_t next;  /* offset in the bytecode */
	uint32_t line;
};

/*
 * The line of the bytecode at offset. 0: the code has none there. hash: of the code, as
 * python_code_hash() has it.
 */
uint32_t python_code_line(const struct python_layout *layout, const struct unwind_stack *stack,
			  uint64_t code, uint64_t hash, int32_t offset, struct python_lines *from);

/*
 * Copies a string (a Python object) as UTF-8, without NUL characters and at most room bytes of it.
 * Returns how many.
 */
size_t python_text(const struct unwind_stack *stack, uint64_t object, char *to, size_t room);

#endif
