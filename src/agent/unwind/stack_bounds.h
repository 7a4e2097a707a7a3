/*
 * Where the mapping around a stack pointer ends. Asked for only once unwinding follows frame
 * pointers, which nothing vouches for. See struct unwind_stack.
 */
#ifndef MALLOW_AGENT_UNWIND_STACK_BOUNDS_H
#define MALLOW_AGENT_UNWIND_STACK_BOUNDS_H

#include <stdint.h>

#include "agent/unwind/unwind.h"

/*
 * The end of the readable mapping that holds sp and, as far as it is known, everything from sp to
 * there; 0: not known. Reads /proc/self/maps when `inside` is not between sp and the end that the
 * thread remembers.
 */
uint64_t stack_bounds_end(struct unwind_stack *stack, uint64_t sp, uint64_t inside);

#endif
