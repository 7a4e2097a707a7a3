#include "stream/greeting.h"

#include <stdio.h>

#include "hosted/now.h"

#define NS_PER_MS UINT64_C(1000000)

/* Byte by byte, so that the time is that of all of them. The link reads ahead. */
static struct err *receive(struct link *link, uint8_t bytes[MESSAGE_GREETING_SIZE])
{
	uint64_t end = now_ns() + MESSAGE_GREETING_MS * NS_PER_MS;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < MESSAGE_GREETING_SIZE; i++) {
		uint64_t now = now_ns();

		if (now >= end)
			return err_create("%s says nothing, or says it too slowly",
					  link_peer(link));
		err = link_receive(link, bytes + i, 1, (int)((end - now) / NS_PER_MS) + 1, NULL);
	}
	return err;
}

struct err *greeting_exchange(struct link *link, const struct message_greeting *own,
			      struct message_greeting *ret, char peer[GREETING_PEER])
{
	uint8_t bytes[MESSAGE_GREETING_SIZE];
	const char *wrong;
	struct err *err;

	snprintf(peer, GREETING_PEER, "%s", link_peer(link));
	message_write_greeting(own, bytes);
	err = link_send(link, bytes, sizeof(bytes), MESSAGE_GREETING_MS);
	if (!err)
		err = receive(link, bytes);
	if (err)
		return err;
	wrong = message_read_greeting(bytes, ret);
	if (!wrong && ret->role == own->role)
		wrong = own->role == MESSAGE_SENDER
				? "it is a sender, too: one side must be 'mallow gather'"
				: "it is a receiver, too";
	if (wrong)
		return err_create("%s: %s", peer, wrong);
	snprintf(peer, GREETING_PEER, "%s (%.90s)", ret->host, link_peer(link));
	return NULL;
}
