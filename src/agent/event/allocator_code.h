/*
 * Whether the code at pc belongs to the functions behind the operators, or to another allocator
 * than the C library's: what it calls is part of what it does. A new_handler, or a signal handler,
 * is somebody else's code. A dynamic program has the allocator in a module of its own
 * (allocator_code_loaded.c), in a static one it is told by functions (allocator_code_static.c).
 */
#ifndef MALLOW_AGENT_EVENT_ALLOCATOR_CODE_H
#define MALLOW_AGENT_EVENT_ALLOCATOR_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers the answers. Any thread, any signal handler. */
bool allocator_code_holds(uint64_t pc);

/* Code is gone: what was found is looked for again. */
void allocator_code_forget(void);

/* The same, found anew: of the one file or the other, for allocator_code_holds() alone. */
bool allocator_code_look(uint64_t pc);

#endif
