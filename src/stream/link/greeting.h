/* The first bytes of a connection: docs/streaming.md, "Greeting". */
#ifndef MALLOW_STREAM_LINK_GREETING_H
#define MALLOW_STREAM_LINK_GREETING_H

#include "stream/link/link.h"
#include "stream/link/message.h"

#define GREETING_PEER 128 /* "host (10.0.0.7:51234)" */

/*
 * Sends our own greeting, and receives the other side's, within MESSAGE_GREETING_MS in all. peer:
 * what the other side is called from now on. An error says who it is, and what is wrong.
 *
 * Without a key the other side must be trusted. Who accepted looks before it reads. Who has
 * connected sends nothing before it has seen who accepted, or has got the first bytes and looked
 * then.
 */
struct err *greeting_exchange(struct link *link, const struct socket_trust *trust,
			      const struct message_greeting *own, struct message_greeting *ret,
			      char peer[GREETING_PEER]);

#endif
