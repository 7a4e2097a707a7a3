/*
 * The program forbids system calls. A seccomp filter may kill it for any of ours, so from then
 * on there are none: recording goes on in a window of the file that was mapped before, with tables
 * in a reserve of pages (own_pages.h), or it stops.
 */
#ifndef MALLOW_AGENT_LIFE_SECCOMP_H
#define MALLOW_AGENT_LIFE_SECCOMP_H

#include <stdbool.h>

/*
 * Before a filter is installed: from now on no system calls. false: nothing has changed, because
 * they were forbidden before, or because the filter is a vfork child's own affair. strict: the
 * mode, not a filter; it stops recording.
 */
bool seccomp_prepare(bool strict);

/* The filter could not be installed after all. Only where seccomp_prepare() returned true. */
void seccomp_refused(void);

#endif
