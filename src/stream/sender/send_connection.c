#include <string.h>

#include "hosted/now.h"
#include "stream/link/foreign_text.h"
#include "stream/link/link_message.h"
#include "stream/sender/sender_data.h"

#define LOOK_MS      100          /* between two looks; … */
#define HURRY_MS     10           /* … once the program has ended, … */
#define LOOK_MS_MOST 2000         /* … and at most, if a look takes long */
#define LOOK_PART    20           /* a look is one part of so many of the time, … */
#define LOOK_MORE    (1u << 20)   /* … but after so many bytes the next one follows at once */
#define FLUSH_SIZE   (256u << 10) /* messages go in packets of so many bytes */
#define NS_PER_MS    UINT64_C(1000000)

static struct err *receiver_fault(const struct connection *connection, const char *what)
{
	return err_create("%s: %s", connection->peer, what);
}

static struct err *take_fault(const struct connection *connection, const struct message *message)
{
	char text[200];

	foreign_text(message->fault.text, message->fault.size, '?', text, sizeof(text));
	return receiver_fault(connection, text);
}

static struct err *take_acknowledge(struct connection *connection, const struct message *message)
{
	if (message->number > connection->writes)
		return receiver_fault(connection, "it acknowledges what was not sent");
	if (message->number > connection->acknowledged)
		sender_note_progress(connection->sender);
	connection->acknowledged = message->number;
	for (size_t i = 0; i < connection->outgoing.count; i++)
		outgoing_acknowledge(connection, connection->outgoing.items[i]);
	return NULL;
}

static struct err *take_message(struct connection *connection, const struct message *message)
{
	struct outgoing *outgoing;

	switch (message->kind) {
	case MESSAGE_ACKNOWLEDGE:
		return take_acknowledge(connection, message);
	case MESSAGE_FAULT:
		return take_fault(connection, message);
	case MESSAGE_HAVE:
	case MESSAGE_REFUSE:
	case MESSAGE_NEED:
	case MESSAGE_DONE:
		break;
	default:
		return NULL;
	}
	if (message->recording >= connection->outgoing.count)
		return receiver_fault(connection, "it speaks of a recording that was not offered");
	outgoing = connection->outgoing.items[message->recording];
	if (message->kind != MESSAGE_REFUSE)
		sender_note_progress(connection->sender);
	if (message->kind == MESSAGE_NEED)
		return send_files_ask(connection, outgoing, message);
	return outgoing_take(connection, outgoing, message);
}

/* Handles what has come in, without waiting: while much is sent, too. */
static struct err *take_answers(struct connection *connection)
{
	bool waits = true, closed;
	struct err *err = NULL;

	while (!err) {
		struct message message;

		err = link_wait(connection->link, 0, &waits);
		if (err || !waits)
			return err;
		err = link_message_take(connection->link, connection->peer, connection->in,
					&message, &closed);
		if (!err && closed)
			err = receiver_fault(connection, "it ended the connection");
		connection->heard_ns = now_ns();
		if (!err)
			err = take_message(connection, &message);
	}
	return err;
}

static struct err *send_flush(struct connection *connection)
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

static void append_bytes(struct connection *connection, const void *data, size_t size)
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
	append_bytes(connection, bytes, sizeof(bytes));
	append_bytes(connection, first, first_size);
	append_bytes(connection, rest, rest_size);
	connection->writes += kind == MESSAGE_WRITE;
	if (connection->out.count < FLUSH_SIZE)
		return NULL;
	err = send_flush(connection);
	return err ? err : take_answers(connection);
}

static struct err *greet_receiver(struct connection *connection)
{
	struct sender *sender = connection->sender;
	struct message_greeting own = {.role = MESSAGE_SENDER}, other;
	const struct socket_trust trust = {.all = sender->options.insecure};
	struct err *err;

	memcpy(own.number, sender->number, sizeof(own.number));
	memcpy(own.host, sender->host, sizeof(own.host));
	err = link_message_greet(connection->link, &trust, &own, &other, connection->peer);
	if (err)
		return err;
	link_set_trust(&sender->links, connection->link);
	return sender_enter(sender, other.number, connection->link);
}

/*
 * Whether the recording need not be offered to a receiver that connects, perhaps again. Who
 * connects to a sender that listens may want what others have.
 */
static bool is_done(struct sender *sender, const struct sent_recording *recording)
{
	return sender->listener < 0 && sender_has_settled(sender, recording);
}

/* Offers recordings that are new, or were refused a while ago. */
static struct err *offer_recordings(struct connection *connection)
{
	size_t count = sender_count(connection->sender);
	struct err *err = NULL;

	while (!err && connection->outgoing.count < count) {
		uint32_t number = (uint32_t)connection->outgoing.count;
		struct outgoing *outgoing;

		err = outgoing_create(sender_recording(connection->sender, number), number,
				      &outgoing);
		if (err)
			return err;
		if (!vec_push(&connection->outgoing, outgoing)) {
			outgoing_destroy(connection, outgoing);
			return err_no_memory();
		}
		if (!is_done(connection->sender, outgoing->recording))
			err = outgoing_offer(connection, outgoing);
	}
	sender_note_offered(connection->sender, connection->link, connection->outgoing.count);
	for (size_t i = 0; !err && i < connection->outgoing.count; i++) {
		struct outgoing *outgoing = connection->outgoing.items[i];

		if (outgoing->state == OUTGOING_LATER && now_ns() >= outgoing->again_ns)
			err = outgoing_offer(connection, outgoing);
		if (outgoing->state == OUTGOING_SETTLED &&
		    is_done(connection->sender, outgoing->recording))
			outgoing_forget(connection, outgoing);
	}
	return err;
}

/* Sends all that has changed. *pause_ms: how long to wait before the next time. */
static struct err *send_all(struct connection *connection, int *pause_ms)
{
	uint64_t begun = now_ns(), put = 0, look_ms;
	bool more = false, hurry;
	struct err *err = offer_recordings(connection);

	for (size_t i = 0; !err && i < connection->outgoing.count; i++)
		err = outgoing_look(connection, connection->outgoing.items[i], &put);
	if (!err)
		err = send_files_piece(connection, &more);
	if (!err && now_ns() - connection->said_ns > MESSAGE_PING_MS * NS_PER_MS)
		err = send_message(connection, MESSAGE_PING, 0, NULL, 0, NULL, 0);
	if (!err)
		err = send_flush(connection);
	look_ms = (now_ns() - begun) / NS_PER_MS * LOOK_PART;
	pthread_mutex_lock(&connection->sender->mutex);
	hurry = connection->sender->ending;
	pthread_mutex_unlock(&connection->sender->mutex);
	*pause_ms = hurry ? HURRY_MS : LOOK_MS;
	if (look_ms > (uint64_t)*pause_ms)
		*pause_ms = look_ms < LOOK_MS_MOST ? (int)look_ms : LOOK_MS_MOST;
	if (more || put >= LOOK_MORE)
		*pause_ms = 0;
	return err;
}

static struct err *send_until_settled(struct connection *connection)
{
	struct err *err = NULL;

	while (!err && !sender_is_settled(connection->sender)) {
		int pause_ms;
		bool waits;

		err = send_all(connection, &pause_ms);
		if (!err)
			err = link_wait(connection->link, pause_ms, &waits);
		if (!err && waits)
			err = take_answers(connection);
		if (!err && now_ns() - connection->heard_ns > MESSAGE_SILENCE_MS * NS_PER_MS)
			err = receiver_fault(connection, "it has been silent for 20 seconds");
	}
	return err;
}

struct err *send_connection(struct sender *sender, struct link *link)
{
	struct connection connection = {
		.sender = sender,
		.link = link,
		.in = malloc(MESSAGE_SIZE_MAX),
		.heard_ns = now_ns(),
		.said_ns = now_ns(),
	};
	struct err *err = connection.in ? greet_receiver(&connection) : err_no_memory();

	if (!err)
		err = send_until_settled(&connection);
	sender_leave(sender, link);
	for (size_t i = 0; i < connection.outgoing.count; i++)
		outgoing_destroy(&connection, connection.outgoing.items[i]);
	send_files_close(&connection);
	vec_deinit(&connection.outgoing);
	vec_deinit(&connection.out);
	free(connection.in);
	return err;
}
