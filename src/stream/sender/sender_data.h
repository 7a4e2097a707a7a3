/* What the files of sender.h share. */
#ifndef MALLOW_STREAM_SENDER_SENDER_DATA_H
#define MALLOW_STREAM_SENDER_SENDER_DATA_H

#include <pthread.h>

#include "hosted/vec.h"
#include "stream/sender/changes.h"
#include "stream/link/link_message.h"
#include "stream/link/link_set.h"
#include "stream/link/message.h"
#include "stream/modules/named_modules.h"
#include "stream/sender/sender.h"
#include "stream/link/strangers.h"

/* A recording of the sender. The first four do not change, but that fd becomes -1 in the end. */
struct sent_recording {
	int fd;
	bool in_memory;
	uint32_t pid; /* of its program, in its own namespace */
	/* The process here, if that is known, else 0, and when it started; 0: it has ended. */
	uint32_t writer;
	uint64_t writer_start;
	char name[MESSAGE_NAME_MAX + 1];
	/* Under the mutex: */
	struct sender_outcome outcome; /* but for settled */
	bool refused;                  /* some receiver does not take it, for good */
	size_t under_way, later;       /* on how many connections it is taken, or may be later */
	uint64_t written_ns;           /* when it was last found to be still written */
};

/* A receiver that is connected. */
struct sender_receiver {
	uint8_t number[MESSAGE_NUMBER_SIZE];
	struct link *link;
	size_t offered; /* it was offered so many of the recordings */
};

struct sender {
	struct sender_options options;
	struct socket_place target;          /* with options.connect */
	uint8_t number[MESSAGE_NUMBER_SIZE]; /* in greetings */
	char host[33];
	int listener; /* -1: none */
	uint16_t port;
	int stop_pipe[2]; /* closed at the writing end: all threads end */
	struct link_set links;
	struct strangers strangers;

	pthread_mutex_t mutex; /* guards all below */
	VEC(struct sent_recording *) recordings;
	VEC(struct sender_receiver) receivers;
	pthread_cond_t left; /* a receiver is not connected any more */
	bool ending, stopping;
	uint64_t ended_ns;    /* since when it is ending */
	uint64_t progress_ns; /* when something last came of a recording */
	char trouble[400];    /* why the last connection failed; empty: it did not */
	pthread_t connector, acceptor, announcer;
	bool has_connector, has_acceptor, has_announcer;
};

/* sender_list.c */
void sender_say(struct sender *sender, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* How many recordings there are. */
size_t sender_count(struct sender *sender);
struct sent_recording *sender_recording(struct sender *sender, size_t i);
/*
 * A receiver is connected. If it was connected already, the older link is ended: it may be dead
 * without a sign.
 */
struct err *sender_enter(struct sender *sender, const uint8_t *number, struct link *link);
/* It was offered so many of the recordings. */
void sender_note_offered(struct sender *sender, const struct link *link, size_t count);
/* Before the link is closed. */
void sender_leave(struct sender *sender, const struct link *link);
/* Whether all recordings are settled and no more will come, or all connections are to end now. */
bool sender_is_settled(struct sender *sender);
/* Whether nothing more will come of a recording. */
bool sender_has_settled(struct sender *sender, const struct sent_recording *recording);
/* Something has come from a receiver that shows that the recordings get on. */
void sender_note_progress(struct sender *sender);

/* A recording on a connection. */
enum outgoing_state {
	OUTGOING_OFFERED,
	OUTGOING_ACTIVE,
	OUTGOING_ENDED,   /* all was sent */
	OUTGOING_SETTLED, /* done, or refused for good */
	OUTGOING_LATER,   /* refused for now */
};

/* A sealed chunk that is given back when so many writes have arrived. */
struct awaited_chunk {
	uint64_t writes;
	uint64_t offset, size;
};

struct outgoing {
	struct sent_recording *recording;
	uint32_t number;
	enum outgoing_state state;
	struct changes *changes;
	struct named_modules *modules;     /* NULL: none was looked for */
	struct module_walk walk;           /* for modules */
	VEC(struct awaited_chunk) awaited; /* in the order of writes; with in_memory */
	size_t given_back;                 /* so many of them */
	uint64_t quiet_ns;                 /* since when nothing has changed; 0: it just did */
	uint64_t again_ns;                 /* OUTGOING_LATER: when to offer it again */
	char why[256];                     /* it was refused */
};

struct asked_file {
	uint32_t recording, request;
	int fd; /* -1: it is absent */
	uint64_t size, at;
};

struct connection {
	struct sender *sender;
	struct link *link;
	char peer[GREETING_PEER];
	VEC(uint8_t) out;
	VEC(struct outgoing *) outgoing; /* by number */
	VEC(struct asked_file) files;    /* the first one is being sent */
	uint8_t *in;                     /* MESSAGE_SIZE_MAX */
	uint64_t writes, acknowledged;
	uint64_t heard_ns, said_ns;
};

/* Runs a connection to its end, which is none if all recordings are settled. */
struct err *send_connection(struct sender *sender, struct link *link);

/* Appends a message; it is sent when the buffer is full, or after a look. */
struct err *send_message(struct connection *connection, uint32_t kind, uint32_t recording,
			 const void *first, size_t first_size, const void *rest, size_t rest_size);

/* send_recording.c */
struct err *outgoing_create(struct sent_recording *recording, uint32_t number,
			    struct outgoing **ret);
void outgoing_destroy(struct connection *connection, struct outgoing *outgoing);
/* Closes its file: nobody wants anything of it any more. */
void outgoing_forget(struct connection *connection, struct outgoing *outgoing);
/* Offers it (again). */
struct err *outgoing_offer(struct connection *connection, struct outgoing *outgoing);
/* Sends what has changed, and at last that the recording has ended. *put: grows by what was sent,
 * in bytes. */
struct err *outgoing_look(struct connection *connection, struct outgoing *outgoing, uint64_t *put);
struct err *outgoing_take(struct connection *connection, struct outgoing *outgoing,
			  const struct message *message);
/* Gives back what has arrived of it. */
void outgoing_acknowledge(struct connection *connection, struct outgoing *outgoing);

/* send_files.c */
struct err *send_files_ask(struct connection *connection, struct outgoing *outgoing,
			   const struct message *message);
/* Notes the modules that a chunk names: it may be gone when the receiver asks for them. */
struct err *send_files_note(struct outgoing *outgoing, uint64_t offset, uint32_t size);
/* Sends a piece of the first file that was asked for. *more: there is more to send. */
struct err *send_files_piece(struct connection *connection, bool *more);
void send_files_close(struct connection *connection);

#endif
