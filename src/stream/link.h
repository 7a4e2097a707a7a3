/*
 * A connection between a sender and a receiver: bytes over TCP, through TLS 1.3 if both have a key.
 * docs/streaming.md says which TLS. Blocking; each call has its time. One thread at a time uses a
 * link, but link_break() may be called by any.
 */
#ifndef MALLOW_STREAM_LINK_H
#define MALLOW_STREAM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/net/socket_place.h"

#define LINK_KEY_SIZE 32u

/* set: false: no key, so no TLS. */
struct link_key {
	bool set;
	uint8_t bytes[LINK_KEY_SIZE];
};

struct link;

/* Connects, tries each address of the host, and proves the key. timeout_ms: for all of it. */
struct err *link_connect(const struct socket_place *place, const struct link_key *key,
			 int timeout_ms, struct link **ret);
/* The other side of link_connect(). Owns the socket, also on failure. */
struct err *link_accept(int socket, const struct link_key *key, int timeout_ms, struct link **ret);
/* Accepts NULL. */
void link_close(struct link *link);

/* Sends all of it. An error if the other side takes none for timeout_ms. */
struct err *link_send(struct link *link, const void *data, size_t size, int timeout_ms);
/* Receives exactly size bytes, each part within timeout_ms. *closed (if not NULL): the other side
 * closed the connection before the first byte; that is no error then. */
struct err *link_receive(struct link *link, void *data, size_t size, int timeout_ms, bool *closed);
/* Waits until there is something to receive. *ret: false: not within timeout_ms. */
struct err *link_wait(struct link *link, int timeout_ms, bool *ret);

/* Ends the connection: all calls on it fail soon. Any thread may call it, also repeatedly. */
void link_break(struct link *link);

/* The other side, as text: "10.0.0.7:51234", "[::1]:51234". Lives as long as the link. */
const char *link_peer(const struct link *link);

#endif
