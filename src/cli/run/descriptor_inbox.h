/*
 * The registry of a run, where it is read: a socket to which programs with the agent send the
 * descriptors of what they record (trace/registry.h).
 *
 * Whoever has the run's key may send, and programs of the run may run as anybody and do anything:
 * what comes is not to be trusted. Credentials are the kernel's.
 */
#ifndef MALLOW_CLI_RUN_DESCRIPTOR_INBOX_H
#define MALLOW_CLI_RUN_DESCRIPTOR_INBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "hosted/err.h"
#include "trace/registry.h"

struct descriptor_inbox {
	int poll; /* readable while messages wait */
	int received[2];
	bool turn;          /* which of them is read next */
	int inherited;      /* for run_child(): programs inherit it under this number */
	char variable[192]; /* the value of MALLOW_REGISTRY */
};

/* What came. Strings end at their NUL, whatever the sender put there. */
struct inbox_message {
	enum registry_kind kind;
	int fd;    /* the receiver's to close; of our own user a regular file's; -1: none */
	pid_t pid; /* of the sender, by the number that it has here; 0: it has none here */
	uid_t uid; /* the sender's real ones */
	gid_t gid;
	char text[REGISTRY_TEXT_MOST + 1];
};

/* Makes the sockets. No file is needed. */
struct err *descriptor_inbox_open(struct descriptor_inbox *ret);
/* Accepts one that could not be opened. */
void descriptor_inbox_close(struct descriptor_inbox *inbox);
/* An inbox that was never opened. */
#define DESCRIPTOR_INBOX_NONE                                                                      \
	(struct descriptor_inbox)                                                                  \
	{                                                                                          \
		.poll = -1, .received = {-1, -1}, .inherited = -1                                  \
	}

/* Takes a message without waiting. false: none is there now. */
bool descriptor_inbox_take(struct descriptor_inbox *inbox, struct inbox_message *ret);

/*
 * Closes our descriptor of the end that programs inherit. Returns whether another process has one.
 */
bool descriptor_inbox_is_used(struct descriptor_inbox *inbox);

/*
 * Whether a file is in memory and has no name, as live tables are. Using it never waits for
 * somebody else.
 */
bool descriptor_inbox_in_memory(int fd);

/*
 * From a process that the agent has started: sends a message to the registry that its environment
 * names, and waits for room there, but not for ever. *none: there is no registry.
 */
struct err *descriptor_inbox_send(enum registry_kind kind, int fd, bool *none);

#endif
