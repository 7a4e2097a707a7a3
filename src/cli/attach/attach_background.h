/*
 * Records a process in the background, for `mallow top`: in a child of ours, into a file that has
 * no name any more. ebpf_absent.c is in its place where mallow is built without eBPF.
 */
#ifndef MALLOW_CLI_ATTACH_ATTACH_BACKGROUND_H
#define MALLOW_CLI_ATTACH_ATTACH_BACKGROUND_H

#include <sys/types.h>

#include "hosted/err.h"

struct attach_background {
	pid_t child; /* 0: none */
	int told;    /* what the child says, once it records: why it has stopped */
	int fd;      /* the recording, the caller's to close */
};

/* Returns once the probes are set. To be called while this process has one thread. */
struct err *attach_background(pid_t pid, struct attach_background *ret);

/*
 * Detaches, if it still records. Accepts a zeroed struct. The descriptor stays open. An error: why
 * it could not record any more.
 */
struct err *attach_background_end(struct attach_background *background);

#endif
