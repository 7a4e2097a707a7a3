/* The agent's own code, to tell its frames from the program's. */
#ifndef MALLOW_AGENT_OWN_CODE_H
#define MALLOW_AGENT_OWN_CODE_H

#include <stdbool.h>
#include <stdint.h>

// Placed by the linker: where this library begins, and where its code ends.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static inline bool own_code(uint64_t pc)
{
	return pc - (uint64_t)__ehdr_start < (uint64_t)etext - (uint64_t)__ehdr_start;
}

/* Takes our own frames out of a stack; returns how many are left. */
static inline uint32_t own_code_strip(uint64_t *frames, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!own_code(frames[i]))
			frames[left++] = frames[i];
	return left;
}

#endif
