/*
 * A connection between a sender and a receiver: bytes over TCP, through TLS 1.3 if both have a key.
 * docs/streaming.md says which TLS. Blocking; each call has its time. One thread at a time uses a
 * link, but link_break() may be called by any.
 *
 * After an error a link is good for link_close() alone. Errors name the other side.
 */
#ifndef MALLOW_STREAM_LINK_LINK_H
#define MALLOW_STREAM_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/net/socket_peer.h"
#include "hosted/net/socket_place.h"

#define LINK_KEY_SIZE 32u

/* set: false: no key, so no TLS. */
struct link_key {
	bool set;
	uint8_t bytes[LINK_KEY_SIZE];
};

struct link;

/*
 * Connects, tries each address of the host, and proves the key. timeout_ms: for all of it. Only the
 * resolver may take longer. No signal interrupts it.
 */
struct err *link_connect(const struct socket_place *place, const struct link_key *key,
			 int timeout_ms, struct link **ret);
/*
 * The other side of link_connect(), which proves nothing yet. Owns the socket, also on failure.
 */
struct err *link_accept(int socket, struct link **ret);
/*
 * Shakes hands on a link that was accepted. timeout_ms: for all of it, however slowly its bytes
 * come. Nothing without a key.
 */
struct err *link_prove(struct link *link, const struct link_key *key, int timeout_ms);
/*
 * What was sent is still delivered, as far as the other side takes it within a moment. No other
 * thread may use the link any more. Accepts NULL.
 */
void link_close(struct link *link);

/*
 * Sends all of it. An error if the other side takes none for timeout_ms. Each call makes at least
 * one packet, so what belongs together should be sent together.
 */
struct err *link_send(struct link *link, const void *data, size_t size, int timeout_ms);
/*
 * Receives exactly size bytes, each part within timeout_ms. Small pieces cost little: the link
 * reads ahead. *closed (if not NULL): the other side closed the connection before the first byte;
 * that is no error then. A process that is killed may look like this, too.
 *
 * Without a key, a first byte of 0x15 or 0x16 that 3 follows is taken for TLS: the other side wants
 * a token, says the error.
 */
struct err *link_receive(struct link *link, void *data, size_t size, int timeout_ms, bool *closed);
/*
 * Waits until there is something to receive, were it the connection's end. *ret: false: not within
 * timeout_ms, which may be 0.
 */
struct err *link_wait(struct link *link, int timeout_ms, bool *ret);

/* Whether link_connect() made it, and not link_accept(). */
bool link_dialled(const struct link *link);
/* As socket_peer_refuse(), for links without a key: the key proves more. */
struct err *link_refuse(const struct link *link, const struct socket_trust *trust);

/*
 * Ends the connection: all calls on it fail soon, also one that is going on. Any thread may call
 * it, also repeatedly, until link_close() begins.
 */
void link_break(struct link *link);

/* The other side, as text: "10.0.0.7:51234", "[::1]:51234". Lives as long as the link. */
const char *link_peer(const struct link *link);

#endif
