/* Finds the interpreter that a process has. */
#ifndef MALLOW_AGENT_SCRIPT_SCRIPT_FIND_H
#define MALLOW_AGENT_SCRIPT_SCRIPT_FIND_H

#include "agent/script/script_runtime.h"

/*
 * Looks for an interpreter among the objects that are loaded, and sets script_runtime and
 * script_frames. May be called again and again. opening: some of them are not bound yet.
 */
void script_find(bool opening);

/* Whether the loader has bound the interpreter's object, after which code in it can be found. */
bool script_is_bound_slow(void);

#endif
