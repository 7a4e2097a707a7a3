/* The recordings of a sender, and what became of them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "stream/sender/sender_data.h"

#define WRITTEN_MS 1000 /* after the end: what is still written then goes on */
#define NS_PER_MS  UINT64_C(1000000)

void sender_say(struct sender *sender, const char *format, ...)
{
	char line[600];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&sender->mutex);
	sender->options.say(sender->options.argument, line);
	pthread_mutex_unlock(&sender->mutex);
}

size_t sender_count(struct sender *sender)
{
	size_t count;

	pthread_mutex_lock(&sender->mutex);
	count = sender->recordings.count;
	pthread_mutex_unlock(&sender->mutex);
	return count;
}

struct sent_recording *sender_recording(struct sender *sender, size_t i)
{
	struct sent_recording *recording;

	pthread_mutex_lock(&sender->mutex);
	recording = i < sender->recordings.count ? sender->recordings.items[i] : NULL;
	pthread_mutex_unlock(&sender->mutex);
	return recording;
}

/*
 * It has arrived somewhere, or nobody takes it, and nobody is taking it now: each receiver that has
 * begun is to have all.
 */
static bool has_settled_locked(const struct sent_recording *recording)
{
	if (recording->under_way)
		return false;
	return recording->outcome.arrived || (recording->refused && !recording->later);
}

static bool is_settled_locked(const struct sender *sender)
{
	// Who is connected is to have a chance.
	for (size_t i = 0; i < sender->receivers.count; i++)
		if (sender->receivers.items[i].offered < sender->recordings.count)
			return false;
	for (size_t i = 0; i < sender->recordings.count; i++)
		if (!has_settled_locked(sender->recordings.items[i]))
			return false;
	return sender->ending;
}

static struct sender_receiver *find_receiver(struct sender *sender, const uint8_t *number)
{
	for (size_t i = 0; i < sender->receivers.count; i++)
		if (memcmp(sender->receivers.items[i].number, number, MESSAGE_NUMBER_SIZE) == 0)
			return &sender->receivers.items[i];
	return NULL;
}

struct err *sender_enter(struct sender *sender, const uint8_t *number, struct link *link)
{
	struct sender_receiver receiver = {.link = link}, *older;
	struct err *err = NULL;

	memcpy(receiver.number, number, sizeof(receiver.number));
	pthread_mutex_lock(&sender->mutex);
	while ((older = find_receiver(sender, number))) {
		link_break(older->link);
		pthread_cond_wait(&sender->left, &sender->mutex);
	}
	if (!vec_push(&sender->receivers, receiver))
		err = err_no_memory();
	pthread_mutex_unlock(&sender->mutex);
	return err;
}

void sender_note_offered(struct sender *sender, const struct link *link, size_t count)
{
	pthread_mutex_lock(&sender->mutex);
	for (size_t i = 0; i < sender->receivers.count; i++)
		if (sender->receivers.items[i].link == link)
			sender->receivers.items[i].offered = count;
	pthread_mutex_unlock(&sender->mutex);
}

void sender_leave(struct sender *sender, const struct link *link)
{
	pthread_mutex_lock(&sender->mutex);
	for (size_t i = 0; i < sender->receivers.count; i++) {
		if (sender->receivers.items[i].link != link)
			continue;
		sender->receivers.items[i] = sender->receivers.items[--sender->receivers.count];
		break;
	}
	pthread_cond_broadcast(&sender->left);
	pthread_mutex_unlock(&sender->mutex);
}

bool sender_has_settled(struct sender *sender, const struct sent_recording *recording)
{
	bool settled;

	pthread_mutex_lock(&sender->mutex);
	settled = has_settled_locked(recording);
	pthread_mutex_unlock(&sender->mutex);
	return settled;
}

void sender_note_progress(struct sender *sender)
{
	pthread_mutex_lock(&sender->mutex);
	sender->progress_ns = now_ns();
	pthread_mutex_unlock(&sender->mutex);
}

bool sender_is_settled(struct sender *sender)
{
	bool settled;

	pthread_mutex_lock(&sender->mutex);
	settled = sender->stopping || is_settled_locked(sender);
	pthread_mutex_unlock(&sender->mutex);
	return settled;
}

struct err *sender_add(struct sender *sender, int given, const char *name, bool in_memory,
		       pid_t pid)
{
	auto_close int fd = given;
	auto_free struct sent_recording *recording = calloc(1, sizeof(*recording));
	struct trace_header header;
	bool good;

	if (!recording)
		return err_no_memory();
	if (pread(fd, &header, sizeof(header), 0) == sizeof(header))
		recording->pid = header.pid;
	recording->fd = fd;
	recording->writer = (uint32_t)pid;
	recording->writer_start = pid ? process_start_time((uint32_t)pid) : 0;
	recording->in_memory = in_memory;
	snprintf(recording->name, sizeof(recording->name), "%s", name);
	pthread_mutex_lock(&sender->mutex);
	good = sender->recordings.count < MESSAGE_RECORDINGS_MAX &&
	       vec_push(&sender->recordings, recording);
	pthread_mutex_unlock(&sender->mutex);
	if (!good)
		return err_create("%s: there are too many recordings", name);
	recording = NULL;
	fd = -1;
	return NULL;
}

void sender_end(struct sender *sender)
{
	pthread_mutex_lock(&sender->mutex);
	sender->ending = true;
	sender->ended_ns = sender->progress_ns = now_ns(); // patience begins now
	pthread_mutex_unlock(&sender->mutex);
}

/* Whether all that is not settled goes on being written, as by a daemon that was started. */
static bool is_only_written_locked(const struct sender *sender)
{
	bool any = false;

	for (size_t i = 0; i < sender->recordings.count; i++) {
		struct sent_recording *recording = sender->recordings.items[i];

		bool settled = has_settled_locked(recording);

		// Other processes may end just after the one that was waited for.
		recording->outcome.written =
			!settled &&
			recording->written_ns > sender->ended_ns + WRITTEN_MS * NS_PER_MS;
		if (!settled && !recording->outcome.written)
			return false;
		any |= recording->outcome.written;
	}
	return any;
}

bool sender_is_busy(struct sender *sender)
{
	bool busy;

	pthread_mutex_lock(&sender->mutex);
	busy = !is_settled_locked(sender) && !is_only_written_locked(sender) &&
	       now_ns() - sender->progress_ns < SENDER_PATIENCE_MS * NS_PER_MS;
	pthread_mutex_unlock(&sender->mutex);
	return busy;
}

bool sender_outcome(struct sender *sender, size_t i, struct sender_outcome *ret)
{
	bool known;

	pthread_mutex_lock(&sender->mutex);
	known = i < sender->recordings.count;
	if (known)
		*ret = sender->recordings.items[i]->outcome;
	if (known)
		ret->settled = has_settled_locked(sender->recordings.items[i]);
	if (known && !*ret->why)
		snprintf(ret->why, sizeof(ret->why), "%.250s", sender->trouble);
	pthread_mutex_unlock(&sender->mutex);
	return known;
}
