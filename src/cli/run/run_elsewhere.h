/*
 * Recordings of a run that no path of ours leads to: other users', and those in another root or
 * mount namespace. Their descriptors are open (run_registry.h).
 */
#ifndef MALLOW_CLI_RUN_RUN_ELSEWHERE_H
#define MALLOW_CLI_RUN_RUN_ELSEWHERE_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/run/run_registry.h"

/*
 * Copies a recording of our own user to a new file in that directory, with the name that it has.
 * *ret: the copy's path (free()); NULL: it is still being written, so it is not copied.
 */
struct err *run_elsewhere_copy(const struct run_image *image, const char *directory, char **ret);

/* What became of another user's recording. */
enum run_foreign_end {
	RUN_FOREIGN_LOST = 0, /* the process that read it ended, or took too long */
	RUN_FOREIGN_FINISHED, /* or it was not to be */
	RUN_FOREIGN_RUNS,     /* it is still being written */
	RUN_FOREIGN_LEFT,     /* read, and left as its program wrote it */
	RUN_FOREIGN_NONE,     /* the file is no recording */
};

/*
 * Runs `work` in a process that has the rights of the recording's owner, if we are root; else ours.
 * It gets a descriptor of the recording, open for reading alone where that is allowed, and the path
 * that leads to it with those rights, or NULL. It may write a text to `channel`, which
 * run_foreign_read() returns: 0 bytes, if none comes. A process that says nothing for minutes is
 * ended: the file may lie in a file system whose server does not answer.
 */
struct run_foreign {
	pid_t pid;
	int channel; /* here: to read from */
};
typedef enum run_foreign_end run_foreign_work(void *argument, const struct run_image *image,
					      int channel);

/* Closes the image's descriptor here. */
struct err *run_foreign_start(struct run_image *image, run_foreign_work *work, void *argument,
			      struct run_foreign *ret);
/* Sends a text, in that process. */
void run_foreign_send(int channel, const void *data, size_t size);
/* *data: the text that it sent (free()), of *size bytes; NULL: none. */
void run_foreign_read(struct run_foreign *foreign, char **data, size_t *size);
/* Waits for its end. */
enum run_foreign_end run_foreign_end(struct run_foreign *foreign);

#endif
