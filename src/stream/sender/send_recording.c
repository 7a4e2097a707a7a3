#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "stream/link/foreign_text.h"
#include "stream/sender/sender_data.h"
#include "write/still_written.h"

/* An ended recording that has not changed for so long is complete. */
#define QUIET_NS UINT64_C(1000000000)
/* After a refusal that may end, a recording is offered again. */
#define AGAIN_NS UINT64_C(5000000000)

/* Whether the receiver is taking it, or about to. */
static bool is_under_way(enum outgoing_state state)
{
	return state == OUTGOING_OFFERED || state == OUTGOING_ACTIVE || state == OUTGOING_ENDED;
}

static void outgoing_set_state(struct connection *connection, struct outgoing *outgoing,
			       enum outgoing_state state)
{
	struct sender *sender = connection->sender;

	pthread_mutex_lock(&sender->mutex);
	outgoing->recording->under_way -= is_under_way(outgoing->state);
	outgoing->recording->later -= outgoing->state == OUTGOING_LATER;
	outgoing->state = state;
	outgoing->recording->under_way += is_under_way(state);
	outgoing->recording->later += state == OUTGOING_LATER;
	pthread_mutex_unlock(&sender->mutex);
}

void outgoing_destroy(struct connection *connection, struct outgoing *outgoing)
{
	outgoing_set_state(connection, outgoing, OUTGOING_SETTLED);
	changes_destroy(outgoing->changes);
	named_modules_destroy(outgoing->modules);
	module_walk_deinit(&outgoing->walk);
	vec_deinit(&outgoing->awaited);
	free(outgoing);
}

struct err *outgoing_create(struct sent_recording *recording, uint32_t number,
			    struct outgoing **ret)
{
	struct outgoing *outgoing = calloc(1, sizeof(*outgoing));

	if (!outgoing)
		return err_no_memory();
	outgoing->recording = recording;
	outgoing->number = number;
	outgoing->state = OUTGOING_SETTLED; // until it is offered
	*ret = outgoing;
	return NULL;
}

void outgoing_forget(struct connection *connection, struct outgoing *outgoing)
{
	struct sender *sender = connection->sender;

	changes_destroy(outgoing->changes);
	outgoing->changes = NULL;
	named_modules_destroy(outgoing->modules);
	outgoing->modules = NULL;
	pthread_mutex_lock(&sender->mutex);
	if (outgoing->recording->fd >= 0)
		close(outgoing->recording->fd);
	outgoing->recording->fd = -1;
	pthread_mutex_unlock(&sender->mutex);
}

/*
 * The recording is settled on this connection. arrived: the receiver has all of it; else why: it
 * will not get it, and the reason.
 */
static void settle_outgoing(struct connection *connection, struct outgoing *outgoing, bool arrived,
			    const char *why)
{
	struct sent_recording *recording = outgoing->recording;
	struct sender *sender = connection->sender;

	outgoing_set_state(connection, outgoing, OUTGOING_SETTLED);
	pthread_mutex_lock(&sender->mutex);
	recording->refused |= !arrived;
	if (!recording->outcome.arrived) {
		recording->outcome.arrived = arrived;
		snprintf(recording->outcome.where, sizeof(recording->outcome.where), "%s",
			 connection->peer);
		snprintf(recording->outcome.why, sizeof(recording->outcome.why), "%s", why);
	}
	pthread_mutex_unlock(&sender->mutex);
}

struct err *outgoing_offer(struct connection *connection, struct outgoing *outgoing)
{
	const struct sent_recording *recording = outgoing->recording;
	struct err *err;

	// A new look begins from nothing: the receiver says what it has.
	changes_destroy(outgoing->changes);
	outgoing->changes = NULL;
	outgoing_set_state(connection, outgoing, OUTGOING_OFFERED);
	err = changes_create(recording->fd, recording->name, &outgoing->changes);
	if (err) {
		// Somebody has cut or overwritten the file. Other recordings go on.
		settle_outgoing(connection, outgoing, false, err_message(err));
		err_destroy(err);
		return NULL;
	}
	return send_message(connection, MESSAGE_RECORDING, outgoing->number,
			    changes_header(outgoing->changes), TRACE_PAGE, recording->name,
			    strlen(recording->name));
}

static void take_refusal(struct connection *connection, struct outgoing *outgoing,
			 const struct message *message)
{
	struct sent_recording *recording = outgoing->recording;
	char why[sizeof(outgoing->why)];

	foreign_text(message->refusal.text, message->refusal.size, '?', why, sizeof(why));
	switch (message->refusal.reason) {
	case MESSAGE_COMPLETE:
		settle_outgoing(connection, outgoing, true, "");
		return;
	case MESSAGE_TAKEN: // who sends it may fail
	case MESSAGE_LATER:
		outgoing_set_state(connection, outgoing, OUTGOING_LATER);
		outgoing->again_ns = now_ns() + AGAIN_NS;
		// What is acknowledged from now on need not have been written.
		outgoing->awaited.count = outgoing->given_back = 0;
		pthread_mutex_lock(&connection->sender->mutex);
		snprintf(recording->outcome.why, sizeof(recording->outcome.why), "%.120s: %.120s",
			 connection->peer, why);
		pthread_mutex_unlock(&connection->sender->mutex);
		break;
	default:
		settle_outgoing(connection, outgoing, false, why);
		break;
	}
	if (strcmp(why, outgoing->why) != 0)
		sender_say(connection->sender, "%s does not take '%s': %s", connection->peer,
			   recording->name, why);
	memcpy(outgoing->why, why, sizeof(why));
}

static struct err *take_have(struct connection *connection, struct outgoing *outgoing,
			     const struct message *message)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < message->have.count; i++) {
		struct message_range range = message_range(message, i);

		err = changes_skip(outgoing->changes, range.offset, range.size);
	}
	outgoing_set_state(connection, outgoing, OUTGOING_ACTIVE);
	outgoing->awaited.count = outgoing->given_back = 0;
	outgoing->quiet_ns = 0;
	return err;
}

struct err *outgoing_take(struct connection *connection, struct outgoing *outgoing,
			  const struct message *message)
{
	enum outgoing_state state = outgoing->state;

	if (message->kind == MESSAGE_REFUSE && state != OUTGOING_SETTLED)
		take_refusal(connection, outgoing, message);
	else if (message->kind == MESSAGE_HAVE && state == OUTGOING_OFFERED)
		return take_have(connection, outgoing, message);
	else if (message->kind == MESSAGE_DONE && state == OUTGOING_ENDED)
		settle_outgoing(connection, outgoing, true, "");
	return NULL;
}

/* What changes_look() hands over. */
struct put {
	struct connection *connection;
	struct outgoing *outgoing;
	uint64_t bytes;
};

static struct err *put_change(void *argument, uint64_t offset, const void *data, size_t size)
{
	struct put *to = argument;

	// The receiver may refuse it in the middle, as when its disk is full.
	if (to->outgoing->state != OUTGOING_ACTIVE)
		return NULL;
	to->bytes += size;
	return send_message(to->connection, MESSAGE_WRITE, to->outgoing->number, &offset,
			    sizeof(offset), data, size);
}

static struct err *note_sealed(void *argument, uint64_t offset, uint64_t size)
{
	struct put *to = argument;
	struct outgoing *outgoing = to->outgoing;
	const struct awaited_chunk chunk = {
		.writes = to->connection->writes, .offset = offset, .size = size};

	if (!outgoing->recording->in_memory || outgoing->state != OUTGOING_ACTIVE)
		return NULL;
	return vec_push(&outgoing->awaited, chunk) ? NULL : err_no_memory();
}

/*
 * The kernel does not say who can write a file in memory, and the process's number in the
 * recording is that of its own namespace.
 */
static bool is_still_written(const struct sent_recording *recording,
			     const struct trace_header *header)
{
	if (!recording->writer)
		return still_written(recording->fd, header);
	if (header->state == TRACE_STATE_ENDED && header->end_reason == TRACE_END_EXEC)
		return false;
	return recording->writer_start &&
	       process_start_time(recording->writer) == recording->writer_start;
}

static bool is_quiet(struct outgoing *outgoing, bool changed)
{
	uint64_t now = now_ns();

	if (changed)
		outgoing->quiet_ns = 0;
	else if (!outgoing->quiet_ns)
		outgoing->quiet_ns = now;
	return outgoing->quiet_ns && now - outgoing->quiet_ns > QUIET_NS;
}

struct err *outgoing_look(struct connection *connection, struct outgoing *outgoing, uint64_t *bytes)
{
	struct put to = {.connection = connection, .outgoing = outgoing};
	const struct changes_sink sink = {
		.put = put_change, .sealed = note_sealed, .argument = &to};
	uint64_t begun = now_ns(); // a look may take long, and the program end meanwhile
	uint64_t size;
	bool changed, over;
	struct err *err;

	if (outgoing->state != OUTGOING_ACTIVE)
		return NULL;
	// Before the look, which then has all.
	over = !is_still_written(outgoing->recording, changes_header(outgoing->changes));
	err = changes_look(outgoing->changes, over ? CHANGES_LAST : CHANGES_NOW, &sink, &changed);
	if (!err && !over && is_quiet(outgoing, changed) &&
	    changes_header(outgoing->changes)->state == TRACE_STATE_ENDED) {
		over = true;
		err = changes_look(outgoing->changes, CHANGES_LAST, &sink, &changed);
	}
	*bytes += to.bytes;
	if (err)
		return err;
	if (!over) {
		// All that there was has been sent, and its program went on at that time.
		pthread_mutex_lock(&connection->sender->mutex);
		outgoing->recording->written_ns = begun;
		pthread_mutex_unlock(&connection->sender->mutex);
		return NULL;
	}
	if (outgoing->state != OUTGOING_ACTIVE)
		return NULL;
	size = changes_size(outgoing->changes);
	outgoing_set_state(connection, outgoing, OUTGOING_ENDED);
	return send_message(connection, MESSAGE_END, outgoing->number, &size, sizeof(size), NULL,
			    0);
}

/* Gives back what a chunk takes of the memory. Who can write is us only for this moment. */
static void give_back(int fd, const struct awaited_chunk *chunk)
{
	char path[32];
	auto_close int writable = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	writable = open(path, O_RDWR | O_CLOEXEC);
	if (writable >= 0)
		fallocate(writable, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)chunk->offset, (off_t)chunk->size);
}

void outgoing_acknowledge(struct connection *connection, struct outgoing *outgoing)
{
	while (outgoing->given_back < outgoing->awaited.count) {
		const struct awaited_chunk *chunk = &outgoing->awaited.items[outgoing->given_back];

		if (chunk->writes > connection->acknowledged)
			break;
		// The receiver may ask for the modules that it names.
		err_destroy(send_files_note(outgoing, chunk->offset, (uint32_t)chunk->size));
		give_back(outgoing->recording->fd, chunk);
		outgoing->given_back++;
	}
	if (outgoing->given_back == outgoing->awaited.count)
		outgoing->given_back = outgoing->awaited.count = 0;
}
