#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "stream/link/foreign_text.h"
#include "stream/receiver/gather_data.h"
#include "stream/link/link_message.h"

#define ACKNOWLEDGE_EACH 64u                  /* writes */
#define ACKNOWLEDGE_NS   UINT64_C(1000000000) /* … or so long after the first of them */
#define LOOK_NS          UINT64_C(2000000000) /* between two looks for modules */

/* A connection with a sender. */
struct receiving {
	struct gather *gather;
	struct link *link;
	char peer[GREETING_PEER];
	uint8_t number[MESSAGE_NUMBER_SIZE];
	VEC(struct incoming *) incoming; /* by the sender's number; NULL: none, or not any more */
	VEC(bool) owed;                  /* the same: it was offered, and is not complete yet */
	uint8_t *in;                     /* MESSAGE_SIZE_MAX */
	uint64_t writes, acknowledged;
	uint64_t acknowledged_ns, looked_ns;
	uint32_t asking; /* for ask_for_module() */
};

static struct err *send_parts(struct receiving *receiving, uint32_t kind, uint32_t recording,
			      const void *first, size_t first_size, const void *rest,
			      size_t rest_size)
{
	const struct message_head head = {
		.size = (uint32_t)(first_size + rest_size), .kind = kind, .recording = recording};
	auto_free uint8_t *bytes = malloc(MESSAGE_HEAD_SIZE + head.size);

	if (!bytes)
		return err_no_memory();
	message_write_head(&head, bytes);
	if (first_size)
		memcpy(bytes + MESSAGE_HEAD_SIZE, first, first_size);
	if (rest_size)
		memcpy(bytes + MESSAGE_HEAD_SIZE + first_size, rest, rest_size);
	return link_send(receiving->link, bytes, MESSAGE_HEAD_SIZE + head.size, MESSAGE_SILENCE_MS);
}

static struct err *sender_fault(const struct receiving *receiving, const char *what)
{
	return err_create("%s: %s", receiving->peer, what);
}

static struct err *acknowledge_writes(struct receiving *receiving)
{
	receiving->acknowledged = receiving->writes;
	receiving->acknowledged_ns = now_ns();
	return send_parts(receiving, MESSAGE_ACKNOWLEDGE, 0, &receiving->writes,
			  sizeof(receiving->writes), NULL, 0);
}

static void count_recordings(struct receiving *receiving, int recordings, bool failed)
{
	struct gather *gather = receiving->gather;

	pthread_mutex_lock(&gather->mutex);
	gather->state.recordings += (size_t)recordings;
	gather->state.failed += failed;
	pthread_mutex_unlock(&gather->mutex);
}

static void drop_incoming(struct receiving *receiving, uint32_t number)
{
	struct incoming *incoming = receiving->incoming.items[number];

	receiving->incoming.items[number] = NULL;
	receive_close(receiving->gather, incoming);
	count_recordings(receiving, -1, false);
}

static struct err *refuse_recording(struct receiving *receiving, uint32_t number, const char *name,
				    const struct receive_refusal *refusal)
{
	uint8_t reason = (uint8_t)refusal->reason;

	if (refusal->reason == MESSAGE_IMPOSSIBLE)
		count_recordings(receiving, 0, true);
	receiving->owed.items[number] = refusal->reason == MESSAGE_LATER;
	if (refusal->reason != MESSAGE_COMPLETE)
		gather_say(receiving->gather, "%s: '%s' is refused: %s", receiving->peer, name,
			   refusal->text);
	return send_parts(receiving, MESSAGE_REFUSE, number, &reason, 1, refusal->text,
			  strlen(refusal->text));
}

static struct err *take_offer(struct receiving *receiving, const struct message *message)
{
	struct gather *gather = receiving->gather;
	struct receive_refusal refusal;
	struct incoming *incoming;
	auto_free struct message_range *have = NULL;
	size_t haves;
	struct err *err;

	while (receiving->incoming.count <= message->recording)
		if (!vec_push(&receiving->owed, false) || !vec_push(&receiving->incoming, NULL))
			return err_no_memory();
	if (receiving->incoming.items[message->recording])
		return sender_fault(receiving, "it offers a recording twice");
	receiving->owed.items[message->recording] = true;
	err = receive_open(gather, message, &incoming, &refusal);
	if (err)
		return err;
	if (!incoming) {
		char name[MESSAGE_NAME_MAX + 1];

		foreign_text(message->offer.name, message->offer.name_size, '?', name,
			     sizeof(name));
		return refuse_recording(receiving, message->recording, name, &refusal);
	}
	receiving->incoming.items[message->recording] = incoming;
	count_recordings(receiving, 1, false);
	err = receive_have(incoming, &have, &haves);
	if (err)
		return err;
	gather_say(gather, "%s '%s', PID %u, from %s: %s",
		   incoming->resumed ? "going on with" : "receiving", incoming->program,
		   incoming->pid, receiving->peer, incoming->name);
	return send_parts(receiving, MESSAGE_HAVE, message->recording, have, haves * sizeof(*have),
			  NULL, 0);
}

static struct err *ask_for_module(void *argument, uint32_t request, uint8_t what,
				  const uint8_t *build_id, size_t size)
{
	struct receiving *receiving = argument;
	uint8_t bytes[7];

	memcpy(bytes, &request, sizeof(request));
	bytes[4] = what;
	bytes[5] = 0;
	bytes[6] = (uint8_t)size;
	return send_parts(receiving, MESSAGE_NEED, receiving->asking, bytes, sizeof(bytes),
			  build_id, size);
}

/* Asks for modules, and ends the recording if all of it is here. */
static struct err *go_on_with(struct receiving *receiving, uint32_t number)
{
	struct gather *gather = receiving->gather;
	struct incoming *incoming = receiving->incoming.items[number];
	char path[4096];
	struct err *err;

	receiving->asking = number;
	err = receive_modules_ask(gather, incoming, ask_for_module, receiving);
	if (err || !incoming->ended || receive_modules_waits(incoming))
		return err;
	snprintf(path, sizeof(path), "%s/%s", gather->options.directory, incoming->name);
	gather_say(gather, "complete: %s, from %s", incoming->name, receiving->peer);
	receive_complete(gather, incoming);
	drop_incoming(receiving, number);
	receiving->owed.items[number] = false;
	err = send_parts(receiving, MESSAGE_DONE, number, "", 0, NULL, 0);
	gather->options.complete(gather->options.argument, path);
	return err;
}

static struct err *take_write(struct receiving *receiving, struct incoming *incoming,
			      const struct message *message)
{
	struct gather *gather = receiving->gather;
	struct receive_refusal refusal;
	struct err *err;
	bool good;

	pthread_mutex_lock(&gather->mutex);
	gather->state.bytes += message->data.size;
	pthread_mutex_unlock(&gather->mutex);
	err = receive_write(gather, incoming, message, &good, &refusal);
	if (err || good)
		return err_prefix(err, "%s", receiving->peer);
	err = refuse_recording(receiving, message->recording, incoming->name, &refusal);
	drop_incoming(receiving, message->recording);
	return err;
}

static struct err *take_end(struct receiving *receiving, struct incoming *incoming,
			    const struct message *message)
{
	struct receive_refusal refusal;
	struct err *err;
	bool good;

	err = receive_end(receiving->gather, incoming, message->number, &good, &refusal);
	if (err)
		return err;
	if (good)
		return go_on_with(receiving, message->recording);
	err = refuse_recording(receiving, message->recording, incoming->name, &refusal);
	drop_incoming(receiving, message->recording);
	return err;
}

static struct err *take_message(struct receiving *receiving, const struct message *message)
{
	struct incoming *incoming = message->recording < receiving->incoming.count
					    ? receiving->incoming.items[message->recording]
					    : NULL;
	struct err *err;

	switch (message->kind) {
	case MESSAGE_RECORDING:
		return take_offer(receiving, message);
	case MESSAGE_PING:
		return acknowledge_writes(receiving);
	case MESSAGE_WRITE:
		// What was on its way when the recording was refused counts, too.
		receiving->writes++;
		return incoming ? take_write(receiving, incoming, message) : NULL;
	case MESSAGE_END:
		return incoming ? take_end(receiving, incoming, message) : NULL;
	case MESSAGE_FILE:
	case MESSAGE_FILE_END:
		if (!incoming)
			return NULL;
		err = err_prefix(receive_modules_take(receiving->gather, incoming, message), "%s",
				 receiving->peer);
		if (!err && message->kind == MESSAGE_FILE_END)
			err = go_on_with(receiving, message->recording);
		return err;
	case MESSAGE_FAULT:
		return sender_fault(receiving, "it ends the connection");
	default:
		return NULL;
	}
}

/* What is to be done now and then. */
static struct err *look_after_all(struct receiving *receiving)
{
	uint64_t now = now_ns(), waiting = receiving->writes - receiving->acknowledged;
	struct err *err = NULL;

	if (waiting >= ACKNOWLEDGE_EACH ||
	    (waiting && now - receiving->acknowledged_ns > ACKNOWLEDGE_NS))
		err = acknowledge_writes(receiving);
	if (err || now - receiving->looked_ns < LOOK_NS)
		return err;
	receiving->looked_ns = now;
	for (uint32_t i = 0; !err && i < receiving->incoming.count; i++)
		if (receiving->incoming.items[i] && !receiving->incoming.items[i]->ended)
			err = go_on_with(receiving, i);
	return err;
}

static struct err *take_messages(struct receiving *receiving)
{
	struct err *err = NULL;
	bool closed = false;

	while (!err && !closed) {
		struct message message;

		err = link_message_take(receiving->link, receiving->peer, receiving->in, &message,
					&closed);
		if (!err && !closed)
			err = take_message(receiving, &message);
		if (!err && !closed)
			err = look_after_all(receiving);
	}
	return err;
}

static struct err *greet_sender(struct receiving *receiving)
{
	struct message_greeting own = {.role = MESSAGE_RECEIVER}, other;
	struct err *err;

	memcpy(own.number, receiving->gather->number, sizeof(own.number));
	memcpy(own.host, receiving->gather->host, sizeof(own.host));
	err = link_message_greet(receiving->link, &receiving->gather->options.trust, &own, &other,
				 receiving->peer);
	if (err)
		return err;
	link_set_trust(&receiving->gather->links, receiving->link);
	memcpy(receiving->number, other.number, sizeof(receiving->number));
	return NULL;
}

static struct gathered_sender *find_sender(struct gather *gather, const uint8_t *number)
{
	for (size_t i = 0; i < gather->senders.count; i++)
		if (memcmp(gather->senders.items[i].number, number, MESSAGE_NUMBER_SIZE) == 0)
			return &gather->senders.items[i];
	return NULL;
}

/*
 * Adds the sender to those that are connected. If it is connected already, the link that we have
 * dialled is not needed. One that the sender has dialled takes the place of the older link, which
 * may be dead without a sign. *known: it is connected already.
 */
static struct err *enter_sender(struct receiving *receiving, bool *known)
{
	struct gather *gather = receiving->gather;
	struct gathered_sender sender = {.link = receiving->link};
	struct gathered_sender *other;
	struct err *err = NULL;

	memcpy(sender.number, receiving->number, sizeof(sender.number));
	pthread_mutex_lock(&gather->mutex);
	while ((other = find_sender(gather, receiving->number)) && !link_dialled(receiving->link)) {
		link_break(other->link);
		pthread_cond_wait(&gather->changed, &gather->mutex);
	}
	*known = other;
	if (!other && !vec_push(&gather->senders, sender))
		err = err_no_memory();
	if (!other && !err)
		gather->state.senders++;
	pthread_mutex_unlock(&gather->mutex);
	return err;
}

static void leave_sender(struct receiving *receiving)
{
	struct gather *gather = receiving->gather;
	struct gathered_sender *own;

	pthread_mutex_lock(&gather->mutex);
	own = find_sender(gather, receiving->number);
	if (own && own->link == receiving->link) {
		*own = gather->senders.items[--gather->senders.count];
		gather->state.senders--;
	}
	pthread_cond_broadcast(&gather->changed);
	pthread_mutex_unlock(&gather->mutex);
}

struct err *receive_connection(struct gather *gather, struct link *link, bool *all)
{
	struct receiving receiving = {
		.gather = gather, .link = link, .in = malloc(MESSAGE_SIZE_MAX)};
	bool known = false, owed = false;
	struct err *err;

	*all = false;
	if (!receiving.in)
		return err_no_memory();
	err = greet_sender(&receiving);
	if (!err)
		err = enter_sender(&receiving, &known);
	if (!err && !known) {
		err = take_messages(&receiving);
		// The sender is to know why the connection ends, if it still listens.
		if (err)
			err_destroy(send_parts(&receiving, MESSAGE_FAULT, 0, err_message(err),
					       strlen(err_message(err)), NULL, 0));
	}
	for (uint32_t i = 0; i < receiving.incoming.count; i++) {
		if (receiving.incoming.items[i])
			drop_incoming(&receiving, i);
		owed |= receiving.owed.items[i];
	}
	leave_sender(&receiving);
	*all = !err && !known && !owed;
	if (!err && !known && owed)
		err = sender_fault(&receiving, "it ended the connection before all had come");
	vec_deinit(&receiving.incoming);
	vec_deinit(&receiving.owed);
	free(receiving.in);
	return err;
}
