/* The settings about sending recordings, as `mallow run` and those like it are given them. */
#ifndef MALLOW_CLI_OPTIONS_STREAM_OPTIONS_H
#define MALLOW_CLI_OPTIONS_STREAM_OPTIONS_H

#include "cli/options/options.h"
#include "stream/sender/sender.h"

struct stream_options {
	bool wanted; /* false: nothing is to be sent, and the rest is not set */
	bool only;   /* --stream-only */
	struct sender_options sender;
};

/*
 * options: with the settings' options. CLI_OK, or the exit status, and an error was printed. What
 * the sender has to say goes to standard error.
 */
int stream_options_read(const struct options *options, struct stream_options *ret);

/*
 * Makes the key that sender and receiver share: from the file, else from the token in
 * MALLOW_TOKEN. file: NULL: none. Without either there is no key.
 */
struct err *stream_options_key(const char *file, struct link_key *ret);

#endif
