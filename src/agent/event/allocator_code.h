/*
 * Tells whether code belongs to an allocator: to the real operators, or to another allocator than
 * the C library's. A call from such code is a part of what the allocator does. A call from a
 * new_handler or a signal handler is not. In a dynamic program the allocator has a module of its
 * own; in a static one it is known by its functions.
 */
#ifndef MALLOW_AGENT_EVENT_ALLOCATOR_CODE_H
#define MALLOW_AGENT_EVENT_ALLOCATOR_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether pc is in such code. Remembers the answer. Any thread, any signal handler. */
bool allocator_code_holds(uint64_t pc);

/* Code was unloaded: forgets the answers. */
void allocator_code_forget(void);

#endif
