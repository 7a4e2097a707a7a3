/* Receives messages from a link: the part that a sender and a receiver have in common. */
#ifndef MALLOW_STREAM_LINK_MESSAGE_TAKE_H
#define MALLOW_STREAM_LINK_MESSAGE_TAKE_H

#include <stdbool.h>

#include "stream/link/link.h"
#include "stream/link/message.h"

/*
 * Receives one message. peer: the other side, for errors. room: MESSAGE_SIZE_MAX bytes, into which
 * *ret points. *closed: the other side has ended the connection instead, which is no error; *ret is
 * untouched then. An error: the link broke, or the message breaks the protocol's rules.
 */
struct err *message_take(struct link *link, const char *peer, uint8_t *room, struct message *ret,
			 bool *closed) __attribute__((nonnull));

#endif
