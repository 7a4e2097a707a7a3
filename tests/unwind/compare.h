/*
 * Captures the caller's stack with mallow's unwinder, plain and through a stack cache of the
 * thread's own, with libgcc's and with libunwind, and compares them pc by pc. Works in signal
 * handlers and on every thread.
 */
#ifndef TESTS_UNWIND_COMPARE_H
#define TESTS_UNWIND_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum compare_with {
	COMPARE_LIBGCC = 1,
	COMPARE_LIBUNWIND = 2,
	COMPARE_ALL = 3,
	COMPARE_PREFIX = 4, /* ours may go on where the other stops: code without tables */
};

void compare_init(void);

/* Compares from the caller's frame on; the stack must also be complete. Counts, reports. */
void compare_stack(const char *what, unsigned with);

/* Ours alone, plain and cached: the caller's stack, innermost first; how it ended is an enum
 * unwind_end. */
size_t compare_capture(uint64_t *pcs, size_t room, int *end);

unsigned long compare_count(void);
unsigned long compare_failures(void);
/* Stacks of which the cache had a part already. */
unsigned long compare_kept(void);

/* unwind_forget(), and no thread's cache is true any more. */
void compare_forget(uint64_t start, uint64_t end);

/* An expectation of the scenes; reports and counts. */
void compare_expect(bool truth, const char *what);

#ifdef __cplusplus
}
#endif

#endif
