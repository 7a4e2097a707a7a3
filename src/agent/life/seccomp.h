/*
 * The program forbids itself system calls (seccomp), or wants to make them in the kernel's stead
 * (Syscall User Dispatch: each raises SIGSYS in the thread, which would meet ours there). A filter
 * may kill it for any of ours. So the agent makes none from then on: it records into a window, a
 * part of the file that was mapped before, and takes memory for tables from a reserve
 * (own_pages.h). Where that is impossible, recording stops.
 */
#ifndef MALLOW_AGENT_LIFE_SECCOMP_H
#define MALLOW_AGENT_LIFE_SECCOMP_H

#include <stdbool.h>

enum seccomp_kind {
	SECCOMP_FILTER,
	SECCOMP_STRICT,   /* recording stops */
	SECCOMP_DISPATCH, /* Syscall User Dispatch: the same, but a forked child does not inherit it
			   */
};

/*
 * Call before it comes into force: from now on the agent makes no system calls. false: nothing has
 * changed, because system calls were forbidden before, or because a vfork child limits itself
 * alone.
 */
bool seccomp_prepare(enum seccomp_kind kind);

/* The filter could not be installed after all. Only after seccomp_prepare() returned true. */
void seccomp_refused(void);

#endif
