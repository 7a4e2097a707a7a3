/*
 * Receives recordings from any number of senders into a directory. docs/streaming.md has the
 * protocol. A sender is never trusted: it chooses the bytes of its recording, and nothing else.
 *
 *	gather.c              its threads: who is connected to, and who connects
 *	receive_connection.c  one connection: offers, writes, answers
 *	receive_file.c        the file of a recording: its name, what it has already, writing
 *	receive_modules.c     which programs and libraries to ask for
 */
#ifndef MALLOW_STREAM_RECEIVER_GATHER_H
#define MALLOW_STREAM_RECEIVER_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/link/link.h"
#include "stream/sender/sender.h"

struct gather;

struct gather_options {
	const char *directory;          /* is made if it is missing */
	char *const *targets;           /* HOST:PORT of senders that listen */
	size_t target_count;            /* 0: finds senders that announce themselves */
	const char *listen;             /* ADDRESS[:PORT]; NULL: senders cannot connect */
	bool find;                      /* connects to senders that announce themselves */
	const char *const *debug_paths; /* where files are looked for, too; NULL ends the list */
	struct link_key key;
	struct socket_trust trust; /* who needs no key; .all: other machines, too */
	uint64_t max_size;         /* bytes of a recording */
	size_t max_senders;        /* connections at a time */
	stream_say *say;
	/* A recording is complete and closed. path: of its file. Called by any thread. */
	void (*complete)(void *argument, const char *path);
	void *argument;
};

/* Binds the port and starts. The options' strings are borrowed until gather_destroy(). */
struct err *gather_create(const struct gather_options *options, struct gather **ret);
/* Ends all connections; recordings that are not complete stay as they are. Accepts NULL. */
void gather_destroy(struct gather *gather);

/* Where senders can connect to: "127.0.0.1:8200"; NULL: nowhere. Lives as long as it does. */
const char *gather_address(const struct gather *gather);

struct gather_state {
	size_t senders;    /* connected now */
	size_t recordings; /* arriving now */
	size_t complete;   /* since the start */
	size_t unfinished; /* they began to arrive, and are not complete */
	size_t failed;     /* given up: refused because they could not be taken */
	uint64_t bytes;    /* received since the start */
	bool over;         /* all targets have sent all they had */
};
void gather_look(struct gather *gather, struct gather_state *ret);

#endif
