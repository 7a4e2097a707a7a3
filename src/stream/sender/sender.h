/*
 * Sends recordings while they are written: follows their files, and never waits for the program.
 * docs/streaming.md has the protocol.
 *
 *	sender_create(&options, &sender);
 *	sender_add(sender, fd, "server", false, 0);  as recordings begin
 *	…
 *	sender_end(sender);                          no more will
 *	while (sender_is_busy(sender))               until all has arrived, or nothing gets on
 *		…;
 *	sender_outcome(sender, i, &outcome);
 *	sender_destroy(sender);
 *
 * It has threads of its own, in which all signals are blocked. The functions may be called by any
 * thread.
 *
 *	sender.c           its threads: who is connected to, and who connects
 *	sender_list.c      the recordings, and what became of them
 *	send_connection.c  one connection: offers, looks, answers; many messages in one packet
 *	send_recording.c   one recording on one connection
 *	send_files.c       modules and debug files for a receiver that has not got them
 */
#ifndef MALLOW_STREAM_SENDER_SENDER_H
#define MALLOW_STREAM_SENDER_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/cleanup.h"
#include "stream/link/link.h"

struct sender;

/* One line for people. Any thread of the sender calls it, one at a time. */
typedef void stream_say(void *argument, const char *line);

struct sender_options {
	const char *connect; /* HOST[:PORT]; NULL: nobody is connected to */
	const char *listen;  /* ADDRESS[:PORT]; NULL: nobody may connect */
	bool announce;       /* listens, at 127.0.0.1 if `listen` is NULL, and tells the network */
	struct link_key key;
	bool insecure; /* other machines without a key are allowed */
	stream_say *say;
	void *argument;
};

/*
 * Checks the options, binds the port and starts. The strings are borrowed until
 * sender_destroy(). An error says what is wrong with the options.
 */
struct err *sender_create(const struct sender_options *options, struct sender **ret);
/* Ends all connections. Accepts NULL. */
void sender_destroy(struct sender *sender);
CLEANUP_DEFINE(struct sender *, sender_destroy);

/*
 * Adds a recording. fd: its file, open for reading alone, as who can write counts as the program;
 * owned, also on failure. in_memory: nobody else keeps it, so what has arrived is punched out.
 * name: of its program, for the receiver. pid: of the process that writes it, by the number that it
 * has here; 0: the recording says who it is.
 */
struct err *sender_add(struct sender *sender, int fd, const char *name, bool in_memory, pid_t pid);

/* No more recordings will be added. */
void sender_end(struct sender *sender);

/*
 * After sender_end(): whether something is still being sent, or may be. false: all has arrived, or
 * nothing has got on for SENDER_PATIENCE_MS, as without a receiver.
 */
bool sender_is_busy(struct sender *sender);
#define SENDER_PATIENCE_MS 30000

struct sender_outcome {
	bool settled;    /* it has arrived, or will not */
	bool arrived;    /* a receiver has all of it */
	bool written;    /* its program goes on writing it: what there was has been sent */
	char where[128]; /* the receiver: "host (10.0.0.7:8200)"; empty: there was none */
	char why[256];   /* it did not arrive; empty: nobody said why */
};

/* Recording i, in the order of sender_add(). false: there is none. */
bool sender_outcome(struct sender *sender, size_t i, struct sender_outcome *ret);

/* The port where it listens; 0: it does not. */
uint16_t sender_port(const struct sender *sender);

#endif
