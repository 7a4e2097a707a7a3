/* A sender against a receiver that is played by hand, and misbehaves. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "stream/link/message.h"
#include "stream/sender/sender.h"
#include "trace/format.h"
#include "trace_writer.h"

#define PATIENCE_MS 60000
#define CHUNK_AT    TRACE_PAGE
#define CHUNK_SIZE  (16 * TRACE_PAGE)
#define FILE_SIZE   (CHUNK_AT + CHUNK_SIZE + TRACE_PAGE)
#define NS_PER_S    INT64_C(1000000000)

static _Atomic int64_t later_ns; /* how far the clock was put forward */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int failed = __real_clock_gettime(clock, ret);

	ret->tv_sec += (time_t)(atomic_load(&later_ns) / NS_PER_S);
	return failed;
}

struct play {
	struct socket_place place;
	int listener;
	char connect[64];
	struct sender *sender;
	struct link *link;
	int fd; /* the recording */
	uint64_t writes;
	pthread_mutex_t mutex;
	char said[2000];
	struct message message;
	uint8_t content[MESSAGE_SIZE_MAX];
};

static void say(void *argument, const char *line)
{
	struct play *play = argument;

	pthread_mutex_lock(&play->mutex);
	snprintf(play->said + strlen(play->said), sizeof(play->said) - strlen(play->said), "%s\n",
		 line);
	pthread_mutex_unlock(&play->mutex);
}

/* A recording in memory with one sealed chunk, and a slot behind it. This process writes it. */
static int make_recording(void)
{
	const uint32_t pid = (uint32_t)getpid();
	struct trace_writer writer;
	struct trace_chunk chunk;
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	trace_writer_init(&writer);
	trace_writer_poke(&writer, 48, pid, 4);
	trace_writer_poke(&writer, 56, process_start_time(pid), 8);
	trace_writer_poke(&writer, 76, TRACE_STATE_RUNNING, 4);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	while (writer.size - writer.chunk < CHUNK_SIZE - 200)
		trace_writer_allocate(&writer, TRACE_OP_MALLOC, 10, writer.size * 16, 40);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SLOT);
	trace_writer_seal(&writer);
	assert_int_equal(writer.size, FILE_SIZE);
	memcpy(&chunk, writer.data + CHUNK_AT, sizeof(chunk));
	assert_int_equal(chunk.size, CHUNK_SIZE);
	assert_int_equal(pwrite(fd, writer.data, writer.size, 0), writer.size);
	trace_writer_deinit(&writer);
	return fd;
}

static void accept_link(struct play *play)
{
	const struct message_greeting own = {.role = MESSAGE_RECEIVER, .host = "peer"};
	uint8_t bytes[MESSAGE_GREETING_SIZE];
	struct message_greeting other;
	int fd = accept4(play->listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(link_accept(fd, &play->link));
	message_write_greeting(&own, bytes);
	assert_ok(link_send(play->link, bytes, sizeof(bytes), PATIENCE_MS));
	assert_ok(link_receive(play->link, bytes, sizeof(bytes), PATIENCE_MS, NULL));
	assert_null(message_read_greeting(bytes, &other));
	assert_int_equal(other.role, MESSAGE_SENDER);
	play->writes = 0;
}

static struct play *begin(void)
{
	struct play *play = calloc(1, sizeof(*play));
	struct sender_options options = {.say = say, .argument = play};

	assert_non_null(play);
	pthread_mutex_init(&play->mutex, NULL);
	strcpy(play->place.host, "127.0.0.1");
	assert_ok(socket_place_listen(&play->place, 0, &play->listener, &play->place.port));
	snprintf(play->connect, sizeof(play->connect), "127.0.0.1:%u", play->place.port);
	options.connect = play->connect;
	assert_ok(sender_create(&options, &play->sender));
	play->fd = make_recording();
	assert_ok(sender_add(play->sender, dup(play->fd), "server", true, 0));
	accept_link(play);
	return play;
}

static void end(struct play *play)
{
	link_close(play->link);
	sender_destroy(play->sender);
	close(play->listener);
	close(play->fd);
	pthread_mutex_destroy(&play->mutex);
	free(play);
}

static void answer(struct play *play, uint32_t kind, uint32_t recording, const void *data,
		   size_t size)
{
	const struct message_head head = {
		.size = (uint32_t)size, .kind = kind, .recording = recording};
	uint8_t bytes[MESSAGE_HEAD_SIZE + 256];

	assert_true(size <= 256);
	message_write_head(&head, bytes);
	if (size)
		memcpy(bytes + MESSAGE_HEAD_SIZE, data, size);
	assert_ok(link_send(play->link, bytes, MESSAGE_HEAD_SIZE + size, PATIENCE_MS));
}

/* The next message of that kind; others before it are taken as they come. */
static const struct message *await(struct play *play, uint32_t kind)
{
	struct message_head head;

	do {
		uint8_t bytes[MESSAGE_HEAD_SIZE];

		assert_ok(link_receive(play->link, bytes, sizeof(bytes), PATIENCE_MS, NULL));
		assert_null(message_read_head(bytes, &head));
		assert_ok(link_receive(play->link, play->content, head.size, PATIENCE_MS, NULL));
		assert_null(message_read(&head, play->content, &play->message));
		play->writes += head.kind == MESSAGE_WRITE;
	} while (head.kind != kind);
	return &play->message;
}

/* Until all of the file was written that there is: the header page comes last. */
static void await_all(struct play *play)
{
	while (await(play, MESSAGE_WRITE)->data.offset != 0)
		;
}

static void take_offer(struct play *play)
{
	const struct message *offer = await(play, MESSAGE_RECORDING);

	assert_int_equal(offer->recording, 0);
	assert_int_equal(offer->offer.name_size, 6);
	assert_memory_equal(offer->offer.name, "server", 6);
}

/* The sender ends the connection. */
static void expect_closed(struct play *play)
{
	struct err *err = NULL;
	bool closed = false;
	char byte;

	while (!err && !closed)
		err = link_receive(play->link, &byte, 1, PATIENCE_MS, &closed);
	err_destroy(err);
}

static void assert_said(struct play *play, const char *text)
{
	pthread_mutex_lock(&play->mutex);
	if (!strstr(play->said, text))
		fail_msg("'%s' does not hold '%s'", play->said, text);
	pthread_mutex_unlock(&play->mutex);
}

/* It connects again, and offers the recording again. */
static void expect_again(struct play *play, const char *said)
{
	expect_closed(play);
	link_close(play->link);
	accept_link(play);
	assert_said(play, said);
	take_offer(play);
}

static void acknowledge(struct play *play, uint64_t writes)
{
	answer(play, MESSAGE_ACKNOWLEDGE, 0, &writes, sizeof(writes));
}

static blkcnt_t blocks(const struct play *play)
{
	struct stat status;

	assert_int_equal(fstat(play->fd, &status), 0);
	return status.st_blocks;
}

/* Asks for a file that there is none of: its end comes after all that was said before. */
static void ask_for_none(struct play *play, uint32_t request)
{
	uint8_t need[7 + 20] = {0, 0, 0, 0, MESSAGE_MODULE, 0, 20, 0xab};
	const struct message *file_end;

	memcpy(need, &request, sizeof(request));
	answer(play, MESSAGE_NEED, 0, need, sizeof(need));
	file_end = await(play, MESSAGE_FILE_END);
	assert_int_equal(file_end->file_end.request, request);
	assert_int_equal(file_end->file_end.absent, 1);
}

static void test_breaks_rules(void **state)
{
	struct play *play = begin();
	static const uint8_t backwards[32] = {[1] = 0x20, [9] = 0x10, [17] = 0x10, [25] = 0x10};

	take_offer(play);
	acknowledge(play, 1);
	expect_again(play, "it acknowledges what was not sent");
	answer(play, MESSAGE_HAVE, 0, backwards, sizeof(backwards));
	expect_again(play, "a message is malformed");
	answer(play, MESSAGE_DONE, 1, NULL, 0);
	expect_again(play, "not offered");
	answer(play, MESSAGE_FAULT, 0, "no\nmore", 7);
	expect_again(play, "no?more");
	// What has no meaning now is passed over.
	answer(play, 99, 0, "later", 5);
	answer(play, MESSAGE_DONE, 0, NULL, 0);
	answer(play, MESSAGE_HAVE, 0, NULL, 0);
	await_all(play);
	answer(play, MESSAGE_HAVE, 0, NULL, 0);
	answer(play, MESSAGE_DONE, 0, NULL, 0);
	ask_for_none(play, 7);
	end(play);
}

static void test_have(void **state)
{
	// No chunks, but parts of one; and one that is there.
	static const uint64_t parts[] = {CHUNK_AT, CHUNK_SIZE - 1, CHUNK_AT + CHUNK_SIZE, 7};
	static const uint64_t whole[] = {CHUNK_AT, CHUNK_SIZE};
	struct play *play = begin();
	bool chunk = false;

	take_offer(play);
	answer(play, MESSAGE_HAVE, 0, parts, sizeof(parts));
	while (await(play, MESSAGE_WRITE)->data.offset != 0)
		chunk |= play->message.data.offset == CHUNK_AT;
	assert_true(chunk);
	link_close(play->link);
	accept_link(play);
	take_offer(play);
	answer(play, MESSAGE_HAVE, 0, whole, sizeof(whole));
	while (await(play, MESSAGE_WRITE)->data.offset != 0)
		assert_true(play->message.data.offset >= CHUNK_AT + CHUNK_SIZE);
	end(play);
}

static void await_settled(struct play *play)
{
	sender_end(play->sender);
	while (sender_is_busy(play->sender))
		usleep(1000);
}

static void test_refusals(void **state)
{
	for (uint8_t reason = 1; reason <= 5; reason++) {
		const uint8_t refusal[] = {reason, 'w', 'h', 'y', '\t'};
		struct sender_outcome outcome;
		struct play *play = begin();

		take_offer(play);
		answer(play, MESSAGE_REFUSE, 0, refusal, sizeof(refusal));
		if (reason == MESSAGE_LATER || reason == MESSAGE_TAKEN) {
			ask_for_none(play, 1);
			atomic_fetch_add(&later_ns, 6 * NS_PER_S);
			take_offer(play);
			answer(play, MESSAGE_REFUSE, 0, "\3why\t", 5);
		}
		await_settled(play);
		assert_true(sender_outcome(play->sender, 0, &outcome));
		assert_int_equal(outcome.arrived, reason == MESSAGE_COMPLETE);
		assert_non_null(strstr(outcome.where, "peer"));
		assert_non_null(strstr(outcome.why, outcome.arrived ? "" : "why?"));
		assert_false(sender_outcome(play->sender, 1, &outcome));
		end(play);
	}
}

/* A file that is no recording, or not any more, is no reason to end the connection. */
static void test_broken_file(void **state)
{
	struct play *play = begin();
	struct sender_outcome outcome;

	take_offer(play);
	assert_ok(sender_add(play->sender, memfd_create("none", MFD_CLOEXEC), "none", false, 0));
	assert_ok(sender_add(play->sender, dup(play->fd), "server", true, 0));
	assert_int_equal(await(play, MESSAGE_RECORDING)->recording, 2);
	assert_true(sender_outcome(play->sender, 1, &outcome));
	assert_true(outcome.settled && !outcome.arrived);
	assert_non_null(strstr(outcome.why, "shorter than a recording's header"));
	end(play);
}

static void test_silence(void **state)
{
	struct play *play = begin();

	take_offer(play);
	atomic_fetch_add(&later_ns, 6 * NS_PER_S);
	await(play, MESSAGE_PING);
	atomic_fetch_add(&later_ns, 15 * NS_PER_S);
	expect_again(play, "silent for 20 seconds");
	end(play);
}

/* What has arrived is given back to the machine, and nothing else is. */
static void test_given_back(void **state)
{
	struct play *play = begin();
	blkcnt_t all = blocks(play);

	take_offer(play);
	answer(play, MESSAGE_HAVE, 0, NULL, 0);
	await_all(play);
	// Not all of the chunk's writes.
	acknowledge(play, 1);
	ask_for_none(play, 1);
	assert_int_equal(blocks(play), all);
	acknowledge(play, play->writes);
	ask_for_none(play, 2);
	assert_int_equal(blocks(play), all - CHUNK_SIZE / 512);
	end(play);
}

/* A receiver that could not write acknowledges what it has dropped, too. */
static void test_kept_after_refusal(void **state)
{
	struct play *play = begin();
	blkcnt_t all = blocks(play);

	take_offer(play);
	answer(play, MESSAGE_HAVE, 0, NULL, 0);
	await_all(play);
	answer(play, MESSAGE_REFUSE, 0, "\4full", 5);
	acknowledge(play, play->writes);
	ask_for_none(play, 1);
	assert_int_equal(blocks(play), all);
	// And when it is offered again, what was acknowledged before does not count.
	atomic_fetch_add(&later_ns, 6 * NS_PER_S);
	take_offer(play);
	answer(play, MESSAGE_HAVE, 0, NULL, 0);
	await_all(play);
	ask_for_none(play, 2);
	assert_int_equal(blocks(play), all);
	acknowledge(play, play->writes);
	ask_for_none(play, 3);
	assert_int_equal(blocks(play), all - CHUNK_SIZE / 512);
	end(play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaks_rules),
		cmocka_unit_test(test_have),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_broken_file),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_kept_after_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
