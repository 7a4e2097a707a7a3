/* `ulimit -s 16` before `mallow run` is meant for the program; the tool needs some 200 KB. */
#ifndef MALLOW_CLI_LARGE_STACK_H
#define MALLOW_CLI_LARGE_STACK_H

/*
 * Calls function(argc, argv), on a stack of its own where RLIMIT_STACK leaves little, and returns
 * what it returns. Threads that begin from now on have as much. Once.
 */
int large_stack_call(int (*function)(int argc, char **argv), int argc, char **argv);

#endif
