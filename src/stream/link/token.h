/* The secret that senders and receivers share, and the key that TLS makes of it. */
#ifndef MALLOW_STREAM_LINK_TOKEN_H
#define MALLOW_STREAM_LINK_TOKEN_H

#include "hosted/err.h"
#include "stream/link/link.h"

/*
 * Makes a link's key: docs/streaming.md, "The protocol". An error if the token is shorter than
 * SOCKET_TOKEN_LEAST.
 */
struct err *token_key(const char *token, struct link_key *ret);

/*
 * Makes a key of a file's first line, without blanks at its end. The file may be a pipe. An error
 * if the line is too short for a token, or the file far too large for one.
 */
struct err *token_file_read(const char *path, struct link_key *ret);

/*
 * Makes a file with a random token of 256 bits, as 64 hexadecimal digits and a newline. Only its
 * owner can read it. An error, whose err_number() is EEXIST, if there is such a file already.
 */
struct err *token_file_make(const char *path);

#endif
