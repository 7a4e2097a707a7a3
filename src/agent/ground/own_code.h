/* The range of the agent's own code, to tell its frames from the program's. */
#ifndef MALLOW_AGENT_GROUND_OWN_CODE_H
#define MALLOW_AGENT_GROUND_OWN_CODE_H

#include <stdbool.h>
#include <stdint.h>

// Placed by the linker: the start of this library, the end of its code, and its zeroed data. Linked
// into a program (libmallow.a) these are sections of the program (static.lds), and the linker marks
// them by their names.
#ifdef MALLOW_STATIC
#define OWN_CODE_START __start_mallow_text
#define OWN_CODE_END   __stop_mallow_text
#define OWN_BSS_START  __start_mallow_bss
#define OWN_BSS_END    __stop_mallow_bss
#else
#define OWN_CODE_START __ehdr_start
#define OWN_CODE_END   etext
#define OWN_BSS_START  __bss_start
#define OWN_BSS_END    _end
#endif

extern const char OWN_CODE_START[] __attribute__((visibility("hidden")));
extern const char OWN_CODE_END[] __attribute__((visibility("hidden")));
extern const char OWN_BSS_START[] __attribute__((visibility("hidden")));
extern const char OWN_BSS_END[] __attribute__((visibility("hidden")));

static inline bool own_code(uint64_t pc)
{
	return pc - (uintptr_t)OWN_CODE_START < (uintptr_t)OWN_CODE_END - (uintptr_t)OWN_CODE_START;
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
