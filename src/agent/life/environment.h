/*
 * The environment that a program needs to be recorded, too: our LD_PRELOAD entry, the MALLOW_
 * variables, and what `mallow run` puts into ASAN_OPTIONS. The agent hands them on at exec, even
 * where the program empties the environment.
 */
#ifndef MALLOW_AGENT_LIFE_ENVIRONMENT_H
#define MALLOW_AGENT_LIFE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers these entries. Called once, while the environment is still as it was at the start. */
void environment_init(void);

/*
 * The environment for an exec: envp itself if nothing is missing in it, with FOLLOW=0, or if there
 * is no memory; else a copy with the missing entries, in memory of the agent's. *size is the size
 * of the copy in bytes; 0: envp itself. If the exec fails, environment_release() gives the copy
 * back.
 *
 * After a chroot, in another mount namespace or as another user the program's loader may be unable
 * to open this library, and would complain in the program's name: then the copy is without it.
 */
char *const *environment_carry(char *const envp[], size_t *size);

/* Whether this program was preloaded, so that programs that it executes are to be, too. */
bool environment_is_handed_on(void);

/* Whether the next program's loader can open this library; true where that cannot be told. */
bool environment_library_is_visible(void);

void environment_release(char *const *envp, size_t size);

#endif
