/*
 * CPython's code objects: which function of which file, and which line. Who makes functions all day
 * makes the same ones again and again. So a code object is known by a hash of what it says: file,
 * name, first line and table of lines.
 */
#ifndef MALLOW_AGENT_SCRIPT_PYTHON_CODE_H
#define MALLOW_AGENT_SCRIPT_PYTHON_CODE_H

#include "agent/script/script_codes.h"

/* Hashes what a code object says. 0: it cannot be read. */
uint64_t python_code_hash(const struct unwind_stack *stack, struct script_codes *codes,
			  uint64_t code);

/*
 * The line of the bytecode at offset. 0: the code has none there. hash: of the code, as
 * python_code_hash() has it.
 */
uint32_t python_code_line(const struct unwind_stack *stack, uint64_t code, uint64_t hash,
			  int32_t offset, struct script_lines *from);

/*
 * Copies a string (a Python object) as UTF-8, without NUL characters and at most room bytes of it.
 * Returns how many.
 */
size_t python_text(const struct unwind_stack *stack, uint64_t object, char *to, size_t room);

#endif
