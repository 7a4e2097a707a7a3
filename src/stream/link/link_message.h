/* Messages over a link: the greeting that a connection begins with, and each one after it. */
#ifndef MALLOW_STREAM_LINK_LINK_MESSAGE_H
#define MALLOW_STREAM_LINK_LINK_MESSAGE_H

#include "stream/link/link.h"
#include "stream/link/message.h"

#define GREETING_PEER 128 /* "host (10.0.0.7:51234)" */

/*
 * docs/streaming.md, "Greeting". Sends our own, and receives the other side's, within
 * MESSAGE_GREETING_MS in all. peer: what the other side is called from now on. An error says who it
 * is, and what is wrong.
 *
 * Without a key the other side must be trusted. Who accepted looks before it reads. Who has
 * connected sends nothing before it has seen who accepted, or has got the first bytes and looked
 * then.
 */
struct err *link_message_greet(struct link *link, const struct socket_trust *trust,
			       const struct message_greeting *own, struct message_greeting *ret,
			       char peer[GREETING_PEER]);

/*
 * Receives one message. peer: the other side, for errors. room: MESSAGE_SIZE_MAX bytes, into which
 * *ret points. *closed: the other side has ended the connection instead, which is no error; *ret is
 * untouched then. An error: the link broke, or the message breaks the protocol's rules.
 */
struct err *link_message_take(struct link *link, const char *peer, uint8_t *room,
			      struct message *ret, bool *closed) __attribute__((nonnull));

#endif
