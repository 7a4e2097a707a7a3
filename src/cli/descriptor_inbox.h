/*
 * A socket to which programs with the agent send descriptors of what they keep in memory: live
 * tables, and recordings that are in no file. trace/live.h has the messages.
 */
#ifndef MALLOW_CLI_DESCRIPTOR_INBOX_H
#define MALLOW_CLI_DESCRIPTOR_INBOX_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "hosted/err.h"
#include "trace/live.h"

struct descriptor_inbox {
	int socket; /* to be polled */
	struct sockaddr_un address;
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": not made */
};

/* Makes the socket, in a directory of its own that nobody else can write to. */
struct err *descriptor_inbox_open(struct descriptor_inbox *ret);
/* Removes it. Accepts one that could not be opened, or with socket = -1. */
void descriptor_inbox_close(struct descriptor_inbox *inbox);

/*
 * Takes a message without waiting. *fd is the caller's. *pid: who sent it, by the number that it
 * has here, in whatever namespace it is; 0: it has none here. false: no message is there.
 */
bool descriptor_inbox_take(struct descriptor_inbox *inbox, int *fd, pid_t *pid,
			   enum live_message *ret);

#endif
