#include "stream/link/link_message.h"

#include <stdio.h>
#include <string.h>

#include "hosted/now.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_MS   20

/* Byte by byte, so that the time is that of all of them. The link reads ahead. */
static struct err *receive_greeting(struct link *link, uint8_t bytes[MESSAGE_GREETING_SIZE])
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

static struct err *send_own(struct link *link, const struct message_greeting *own)
{
	uint8_t bytes[MESSAGE_GREETING_SIZE];

	message_write_greeting(own, bytes);
	return link_send(link, bytes, sizeof(bytes), MESSAGE_GREETING_MS);
}

/*
 * Until the other side accepts, or says something, nobody can tell whose it is. One that wants a
 * key accepts, and says nothing.
 */
static struct err *await_trusted(struct link *link, const struct socket_trust *trust)
{
	const uint64_t end = now_ns() + MESSAGE_GREETING_MS * NS_PER_MS;
	struct err *refusal, *err;
	bool speaks = false;

	while ((refusal = link_refuse(link, trust)) && !speaks) {
		err_destroy(refusal);
		if (now_ns() >= end)
			return err_create("%s does not answer", link_peer(link));
		err = link_wait(link, LOOK_MS, &speaks);
		if (err)
			return err;
	}
	return refusal;
}

/* Tells a sender why it is not let in. */
static void say_refusal(struct link *link, const struct message_greeting *own,
			const struct err *refusal)
{
	const char *text = err_message(refusal);
	const struct message_head head = {.size = (uint32_t)strlen(text), .kind = MESSAGE_FAULT};
	uint8_t bytes[MESSAGE_HEAD_SIZE];
	struct err *err = send_own(link, own);

	message_write_head(&head, bytes);
	if (!err)
		err = link_send(link, bytes, sizeof(bytes), MESSAGE_GREETING_MS);
	if (!err)
		err = link_send(link, text, head.size, MESSAGE_GREETING_MS);
	err_destroy(err);
}

struct err *link_message_greet(struct link *link, const struct socket_trust *trust,
			       const struct message_greeting *own, struct message_greeting *ret,
			       char peer[GREETING_PEER])
{
	uint8_t bytes[MESSAGE_GREETING_SIZE];
	struct err *err =
		link_dialled(link) ? await_trusted(link, trust) : link_refuse(link, trust);
	const char *wrong;

	snprintf(peer, GREETING_PEER, "%s", link_peer(link));
	if (err && !link_dialled(link) && own->role == MESSAGE_RECEIVER)
		say_refusal(link, own, err);
	if (!err)
		err = send_own(link, own);
	if (!err)
		err = receive_greeting(link, bytes);
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

struct err *link_message_take(struct link *link, const char *peer, uint8_t *room,
			      struct message *ret, bool *closed)
{
	uint8_t bytes[MESSAGE_HEAD_SIZE];
	struct message_head head;
	const char *wrong;
	struct err *err;

	err = link_receive(link, bytes, sizeof(bytes), MESSAGE_SILENCE_MS, closed);
	if (err || *closed)
		return err;
	wrong = message_read_head(bytes, &head);
	if (!wrong) {
		err = link_receive(link, room, head.size, MESSAGE_SILENCE_MS, NULL);
		if (err)
			return err;
		wrong = message_read(&head, room, ret);
	}
	return wrong ? err_create("%s: %s", peer, wrong) : NULL;
}
