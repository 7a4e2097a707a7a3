/*
 * The program forbids itself system calls (seccomp). The filter may kill it for any of ours. So the
 * agent makes none from then on: it records into a window, a part of the file that was mapped
 * before, and takes memory for tables from a reserve (own_pages.h). Where that is impossible,
 * recording stops.
 */
#ifndef MALLOW_AGENT_LIFE_SECCOMP_H
#define MALLOW_AGENT_LIFE_SECCOMP_H

#include <stdbool.h>

/*
 * Call before a filter is installed: from now on the agent makes no system calls. strict: seccomp's
 * strict mode, not a filter; recording stops. false: nothing has changed, because system calls were
 * forbidden before, or because a vfork child installs the filter, for itself alone.
 */
bool seccomp_prepare(bool strict);

/* The filter could not be installed after all. Only after seccomp_prepare() returned true. */
void seccomp_refused(void);

#endif
