/* A test build (tests/agent) looks at captured stacks; otherwise nothing. */
#ifndef MALLOW_AGENT_COMPARE_H
#define MALLOW_AGENT_COMPARE_H

#include <stdint.h>

#ifdef MALLOW_TEST_COMPARE
/* frames: innermost first, from the hook's caller on. */
void compare_stack(const uint64_t *frames, uint32_t count);
#else
static inline void compare_stack(const uint64_t *frames, uint32_t count)
{
}
#endif

#endif
