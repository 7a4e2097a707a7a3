/*
 * What a program must find in its environment to be recorded, too: our LD_PRELOAD entry, the
 * MALLOW_ variables, and what `mallow run` tells AddressSanitizer. Carried into exec even where the
 * program empties the environment.
 */
#ifndef MALLOW_AGENT_LIFE_ENVIRONMENT_H
#define MALLOW_AGENT_LIFE_ENVIRONMENT_H

#include <stddef.h>

/* Remembers them. Once, while the environment is as it was at the start. */
void environment_init(void);

/*
 * envp, or a copy of it with what it lacks, in memory of the agent's. The copy is *size bytes,
 * to be given back by environment_release() if the exec fails; 0: envp itself.
 */
char *const *environment_carry(char *const envp[], size_t *size);
void environment_release(char *const *envp, size_t size);

#endif
