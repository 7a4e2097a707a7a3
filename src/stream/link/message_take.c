#include "stream/link/message_take.h"

struct err *message_take(struct link *link, const char *peer, uint8_t *room, struct message *ret,
			 bool *closed)
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
