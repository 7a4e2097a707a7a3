/*
 * Which code is the allocator's, in front of which our hooks stand: what it calls is part of what
 * it does. A dynamic program has it in a module of its own (allocator_code.c), in a static one it
 * is told by functions (allocator_code_static.c). next_functions_is_allocator_code() remembers the
 * answers.
 */
#ifndef MALLOW_AGENT_GROUND_ALLOCATOR_CODE_H
#define MALLOW_AGENT_GROUND_ALLOCATOR_CODE_H

#include <stdbool.h>
#include <stdint.h>

bool allocator_code_holds(uint64_t pc);

#endif
