/*
 * Receiving recordings, for `mallow gather` and `mallow serve --gather`: a gatherer that says what
 * it does, and finishes what is complete.
 */
#ifndef MALLOW_CLI_SERVE_GATHERING_H
#define MALLOW_CLI_SERVE_GATHERING_H

#include "cli/options/options.h"
#include "stream/receiver/gather.h"

#define GATHERING_LISTEN      "127.0.0.1"
#define GATHERING_MAX_SENDERS 256u
#define GATHERING_MAX_SIZE    (UINT64_C(1) << 40)

struct gathering;

struct gathering_options {
	struct gather_options gather; /* say, complete and argument are not set */
	bool no_finish;
	/* Gets a folder of tables for each complete recording, and is made; NULL: there are none.
	 */
	const char *tables;
};

/* The strings of options are borrowed. */
struct err *gathering_start(const struct gathering_options *options, struct gathering **ret);

/* A line of progress on the terminal, replaced at each call; nothing if it is none. */
void gathering_show(struct gathering *gathering);

/* As gather_look(). */
void gathering_look(struct gathering *gathering, struct gather_state *ret);

/* Ends all connections, and frees it. Accepts NULL. */
void gathering_stop(struct gathering *gathering);

/*
 * The key of a gatherer: as stream_options_key(), but a file that is missing is made, with a
 * random token.
 */
struct err *gathering_key(const char *file, struct link_key *ret);

#endif
