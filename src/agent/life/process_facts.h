/* What a recording says of its process: executable, arguments, directory, host. */
#ifndef MALLOW_AGENT_LIFE_PROCESS_FACTS_H
#define MALLOW_AGENT_LIFE_PROCESS_FACTS_H

struct thread;

/* Writes them into the first thread's stream. In a signal bracket, with `busy` set. */
void process_facts_write(struct thread *thread);

/*
 * Finds which file the program is, and sets program_path (ground/file_name.h): its module, its name
 * and %e in names of files come from it. Once after an exec, while system calls are allowed.
 */
void program_path_find(void);

#endif
