/* What the files of gather.h share. */
#ifndef MALLOW_STREAM_RECEIVER_GATHER_DATA_H
#define MALLOW_STREAM_RECEIVER_GATHER_DATA_H

#include <pthread.h>

#include "hosted/vec.h"
#include "stream/receiver/gather.h"
#include "stream/link/link_set.h"
#include "stream/link/message.h"
#include "stream/modules/module_store.h"
#include "stream/modules/named_modules.h"
#include "stream/link/strangers.h"
#include "trace/format.h"

#define INCOMING_NAME_MAX 320
#define NAME_SHOWN        100 /* bytes of a program's name in a file's name */

/* A sender that is connected. */
struct gathered_sender {
	uint8_t number[MESSAGE_NUMBER_SIZE];
	struct link *link;
};

struct gather {
	struct gather_options options;
	struct module_store *store; /* NULL: there is no cache */
	uint8_t number[MESSAGE_NUMBER_SIZE];
	char host[33];
	int directory;
	int listener;                         /* -1: none */
	int finder;                           /* socket of beacons, -1: none */
	char address[SOCKET_PLACE_HOST + 16]; /* where it listens */
	int stop_pipe[2];                     /* closed at the writing end: all threads end */
	struct link_set links;
	struct strangers strangers;

	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t changed;
	VEC(struct gathered_sender) senders;
	VEC(struct gathered_sender)
	dialled; /* announced senders that a thread connects to; no link */
	VEC(struct incoming *) arriving;
	struct trace_id {
		uint8_t bytes[16];
	} * done; /* ids of recordings that are complete, in a ring */
	size_t done_count;
	VEC(struct trace_id)
	unfinished; /* of recordings that began to arrive, and are not complete */
	struct gather_state state;
	size_t targets_left;
	bool stopping;
	pthread_t acceptor, announcements;
	bool has_acceptor, has_announcements;
};

#define GATHER_DONE_MAX 4096u

void gather_say(struct gather *gather, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A file that was asked for. */
struct asked_module {
	uint32_t request;
	uint8_t what; /* enum message_file */
	size_t module;
	struct incoming_module *file; /* NULL: nothing has come yet */
	bool failed;                  /* what comes is dropped */
};

/* A recording that arrives. */
struct incoming {
	uint8_t id[16];
	int fd;
	char name[INCOMING_NAME_MAX]; /* of its file, in the directory */
	char program[NAME_SHOWN + 1];
	uint32_t pid;
	uint64_t bytes;       /* received now */
	uint64_t begun_bytes; /* so many of them are on their way to the disk */
	uint64_t end;         /* where the last of them is in the file */
	bool resumed;         /* a part was there already */
	bool ended;           /* all of it has come */

	struct named_modules *modules;
	struct module_walk walk; /* for modules */
	size_t modules_asked;    /* so many of them were looked at */
	VEC(struct asked_module) asked;
	uint32_t next_request;
};

/* receive_file.c */
struct receive_refusal {
	enum message_refusal reason;
	char text[200];
};

/*
 * Opens the file for a recording that is offered: one that has a part of it already, or a new one.
 * *ret NULL: it is refused, and why.
 */
struct err *receive_open(struct gather *gather, const struct message *offer, struct incoming **ret,
			 struct receive_refusal *refusal);
void receive_close(struct gather *gather, struct incoming *incoming);
/* The sealed chunks that are in the file. *ret is the caller's (free()). */
struct err *receive_have(const struct incoming *incoming, struct message_range **ret,
			 size_t *count);
/* Writes. *refusal is set, and *ret false, if the disk is full. An error: it breaks the rules. */
struct err *receive_write(const struct gather *gather, struct incoming *incoming,
			  const struct message *message, bool *ret,
			  struct receive_refusal *refusal);
/* It is complete, with this size. As receive_write(). */
struct err *receive_end(const struct gather *gather, struct incoming *incoming, uint64_t size,
			bool *ret, struct receive_refusal *refusal);

/* All of the recording is here. */
void receive_complete(struct gather *gather, const struct incoming *incoming);

/* Runs a connection. *all: the sender has sent all it had. */
struct err *receive_connection(struct gather *gather, struct link *link, bool *all);

/* receive_modules.c */
typedef struct err *receive_ask(void *argument, uint32_t request, uint8_t what,
				const uint8_t *build_id, size_t size);
/* Asks for what the recording names and this machine has not. */
struct err *receive_modules_ask(struct gather *gather, struct incoming *incoming, receive_ask *ask,
				void *argument);
/* MESSAGE_FILE, MESSAGE_FILE_END. */
struct err *receive_modules_take(struct gather *gather, struct incoming *incoming,
				 const struct message *message);
/* Whether something that was asked for is still to come. */
bool receive_modules_waits(const struct incoming *incoming);

#endif
