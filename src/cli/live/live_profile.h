/*
 * What the processes below `mallow live` have live now, as one recording, for who asks over HTTP
 * and for what is pushed. It is made by this process, of copies of the tables: no program waits.
 * Of processes that have ended the allocations stay, stack by stack; their tables do not. Only the
 * program's own stays as it was last: `mallow live` ends with it.
 */
#ifndef MALLOW_CLI_LIVE_LIVE_PROFILE_H
#define MALLOW_CLI_LIVE_LIVE_PROFILE_H

#include <sys/types.h>

#include "hosted/cleanup.h"
#include "server/data/profile_source.h"

struct live_profile;

struct err *live_profile_create(struct live_profile **ret);
/* Accepts NULL. No look may be under way. */
void live_profile_destroy(struct live_profile *profile);
CLEANUP_DEFINE(struct live_profile *, live_profile_destroy);

/*
 * Takes a process's table in, by a descriptor of its own. pid: its number here; 0: it has none.
 * Any thread. What cannot be taken in is said once.
 */
void live_profile_add(struct live_profile *profile, int table, pid_t pid);

/* As struct profile_source has it. argument: the profile. */
struct err *live_profile_look(void *argument, profile_use *use, void *use_argument, bool *any);

#endif
