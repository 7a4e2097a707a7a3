/* Cells for patched functions, near their modules, and writing code. */
#ifndef MALLOW_AGENT_PATCH_PATCH_CODE_H
#define MALLOW_AGENT_PATCH_PATCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/patch/patched.h"

/*
 * own_path: this library's file. The pages of cells are at first some of its, mapped once more:
 * memory that is executable and of no file is what some systems forbid. Kept.
 */
void patch_code_begin(const char *own_path);

/*
 * A cell that can be reached from an address. Those that were given back come first, the oldest of
 * them. NULL: no place near it, or no memory. Under the caller's lock.
 */
struct patched *patch_code_cell(uint64_t address);

/* Gives a cell back whose function is gone. Its code stays until another function gets it. */
void patch_code_give_back(struct patched *cell);

/*
 * Writes over code, by /proc/self/mem: no page is writable and executable at any time, so rules
 * that forbid that (PR_SET_MDWE, seccomp) allow it. While bytes are written no thread may run them.
 * false: the kernel does not allow it.
 */
bool patch_code_write(void *at, const void *bytes, size_t size);

/* The cell whose moved code holds pc; NULL: none. Any thread, any signal handler. */
const struct patched *patch_code_find(uint64_t pc);

#endif
