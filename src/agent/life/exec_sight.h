/*
 * Programs that will not be recorded although this one is: set-uid programs, static ones, those of
 * another machine, and whatever runs where the library cannot be opened. Neither the preload nor
 * the registry reaches what they start, so this recording says it (docs/trace-format.md, section
 * 4.5).
 */
#ifndef MALLOW_AGENT_LIFE_EXEC_SIGHT_H
#define MALLOW_AGENT_LIFE_EXEC_SIGHT_H

#include <stdbool.h>

/*
 * Before a program is executed or spawned: looks at its file, and records if it will not be
 * recorded. directory: as of execveat(); an empty path: it is the program's own descriptor.
 * search: a name without a slash is searched on the PATH. Any thread, also in a vfork
 * child; of such the record is lost if the slot has no room for it. Looks at nothing if another
 * thread looks at this moment.
 */
void exec_sight_look(int directory, const char *path, bool search);

#endif
