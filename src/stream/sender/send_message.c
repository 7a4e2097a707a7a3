#include <string.h>

#include "hosted/now.h"
#include "stream/sender/sender_data.h"

#define FLUSH_SIZE (256u << 10)

struct err *send_flush(struct connection *connection)
{
	struct err *err = NULL;

	if (connection->out.count) {
		err = link_send(connection->link, connection->out.items, connection->out.count,
				MESSAGE_SILENCE_MS);
		connection->said_ns = now_ns();
	}
	connection->out.count = 0;
	return err;
}

static void append(struct connection *connection, const void *data, size_t size)
{
	if (size)
		memcpy(connection->out.items + connection->out.count, data, size);
	connection->out.count += size;
}

struct err *send_message(struct connection *connection, uint32_t kind, uint32_t recording,
			 const void *first, size_t first_size, const void *rest, size_t rest_size)
{
	const struct message_head head = {
		.size = (uint32_t)(first_size + rest_size), .kind = kind, .recording = recording};
	uint8_t bytes[MESSAGE_HEAD_SIZE];
	struct err *err;

	if (!vec_reserve(&connection->out, sizeof(bytes) + head.size))
		return err_no_memory();
	message_write_head(&head, bytes);
	append(connection, bytes, sizeof(bytes));
	append(connection, first, first_size);
	append(connection, rest, rest_size);
	connection->writes += kind == MESSAGE_WRITE;
	if (connection->out.count < FLUSH_SIZE)
		return NULL;
	err = send_flush(connection);
	return err ? err : connection->take_answers(connection);
}
