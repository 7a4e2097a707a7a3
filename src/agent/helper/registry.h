/*
 * The registry of a run: a socket of `mallow run` or `mallow live`, which thus learn what is
 * recorded and keep it open (trace/registry.h). If a process is killed, its live table is not lost.
 *
 * All functions are async-signal-safe. A process that shares a thread's storage may call them, too
 * (clone_stack.h).
 */
#ifndef MALLOW_AGENT_HELPER_REGISTRY_H
#define MALLOW_AGENT_HELPER_REGISTRY_H

#include <stdbool.h>

#include "base/compiler.h"
#include "trace/registry.h"

/* The inherited descriptor, which the program does not know of; 0: none. Kept across fork. */
extern int registry_descriptor hidden;

/* Looks whether the descriptor was inherited. To be called once, after config_read(). */
void registry_init(void);

/*
 * Whether this number is still the registry: the program may have closed it by a system call. Under
 * a seccomp filter that is not looked at.
 */
bool registry_is(int fd);

/* Before an exec: the next program is to inherit the descriptor, whatever the program marked. */
void registry_pass_on(void);

/*
 * Sends a message. fd: the descriptor that goes with it, -1: none. text: as in trace/registry.h.
 * patient: waits for room in the socket. Returns 0, or the negative error; -ENOENT and
 * -ECONNREFUSED: nobody is there.
 */
long registry_tell(int fd, enum registry_kind kind, const char *text, bool patient);

/* Whether that error means: not now. */
bool registry_is_full(long error);

#endif
