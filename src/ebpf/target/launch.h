/*
 * Starts a program so that it can be traced before its first allocation: it is held after the
 * loader has mapped its libraries, and before any of their code runs. The C library calls
 * _dl_debug_state() at that point, for debuggers. A static program is held at its start.
 */
#ifndef MALLOW_EBPF_TARGET_LAUNCH_H
#define MALLOW_EBPF_TARGET_LAUNCH_H

#include <sys/types.h>

#include "hosted/err.h"

/*
 * Runs argv (argv[0] is looked up in PATH) in a child, and returns when it is held. The error says
 * why it could not be executed (err_number()), or that it ended before it got there.
 */
struct err *launch(char *const argv[], pid_t *ret);

/* Lets the program go on, and leaves it alone from then on. */
struct err *launch_release(pid_t pid);

#endif
