/* Which file the program is: what its module, its name and %e in names of files come from. */
#ifndef MALLOW_AGENT_LIFE_PROGRAM_PATH_H
#define MALLOW_AGENT_LIFE_PROGRAM_PATH_H

/* Sets program_path (ground/file_name.h). Once after an exec, while system calls are allowed. */
void program_path_find(void);

#endif
