/*
 * A larger stack for the tool. `ulimit -s 16` before `mallow run` is meant for the program, but the
 * tool needs some 200 KB.
 */
#ifndef MALLOW_CLI_LARGE_STACK_H
#define MALLOW_CLI_LARGE_STACK_H

/*
 * Calls function(argc, argv) and returns its result. If RLIMIT_STACK is small, the function runs on
 * a larger stack, and threads that start from now on get one as large. To be called once.
 */
int large_stack_call(int (*function)(int argc, char **argv), int argc, char **argv);

#endif
