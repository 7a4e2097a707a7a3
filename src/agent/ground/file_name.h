/* The names of the files that the agent writes: see settings/output_name.h. */
#ifndef MALLOW_AGENT_GROUND_FILE_NAME_H
#define MALLOW_AGENT_GROUND_FILE_NAME_H

#include <stdbool.h>

#include "settings/output_name.h"

#define FILE_NAME_MAX 1024

/*
 * The program's own file, as an absolute path; "": not known. Set by life/process_facts.h at the
 * start.
 */
extern char program_path[FILE_NAME_MAX];
/* It was started as `ld.so ./program`: /proc/self/exe is the loader. */
extern bool program_by_loader;

/* Gets the values of the placeholders from the kernel. */
void file_name_context(struct output_name *ret);

/* Makes the missing directories of the path. The path is the same afterwards. */
void file_name_make_parents(char *path);

#endif
