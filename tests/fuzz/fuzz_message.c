/*
 * libFuzzer target: bytes as what a sender or receiver of recordings sends: a greeting, and
 * messages after it. What is read lies within the message, keeps to the limits, and is written as
 * it was.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/link/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_greeting(const uint8_t bytes[MESSAGE_GREETING_SIZE])
{
	struct message_greeting greeting, again;
	uint8_t written[MESSAGE_GREETING_SIZE];

	if (message_read_greeting(bytes, &greeting))
		return;
	require(greeting.role == MESSAGE_SENDER || greeting.role == MESSAGE_RECEIVER);
	require(strlen(greeting.host) < sizeof(greeting.host));
	for (const char *c = greeting.host; *c; c++)
		require((unsigned char)*c >= ' ' && *c != 0x7f);
	message_write_greeting(&greeting, written);
	require(!message_read_greeting(written, &again));
	require(again.role == greeting.role && !strcmp(again.host, greeting.host) &&
		!memcmp(again.number, greeting.number, sizeof(greeting.number)));
}

/* Every byte in [bytes, bytes + size) is read: the sanitizers know the content's bounds. */
static void touch(const uint8_t *bytes, size_t size)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + bytes[i]);
}

static void check_have(const struct message *message)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < message->have.count; i++) {
		struct message_range range = message_range(message, i);

		require(range.offset >= end && range.size <= INT64_MAX &&
			range.offset <= INT64_MAX - range.size);
		end = range.offset + range.size;
	}
}

static void check_message(const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_RECORDING:
		require(message->offer.name_size <= MESSAGE_NAME_MAX);
		touch(message->offer.page, 4096);
		touch(message->offer.name, message->offer.name_size);
		break;
	case MESSAGE_WRITE:
	case MESSAGE_FILE:
		require(message->data.size <= MESSAGE_DATA_MAX);
		require(message->data.offset <= INT64_MAX - (uint64_t)message->data.size);
		touch(message->data.data, message->data.size);
		break;
	case MESSAGE_HAVE:
		check_have(message);
		break;
	case MESSAGE_REFUSE:
		touch(message->refusal.text, message->refusal.size);
		break;
	case MESSAGE_NEED:
		require(message->need.what == MESSAGE_MODULE ||
			message->need.what == MESSAGE_DEBUG_FILE);
		require(message->need.build_id_size >= 1 &&
			message->need.build_id_size <= MESSAGE_BUILD_ID_MAX);
		touch(message->need.build_id, message->need.build_id_size);
		break;
	case MESSAGE_FAULT:
		touch(message->fault.text, message->fault.size);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = MESSAGE_GREETING_SIZE;

	if (size < at)
		return 0;
	check_greeting(data);
	while (size - at >= MESSAGE_HEAD_SIZE) {
		struct message_head head;
		struct message message;
		uint8_t written[MESSAGE_HEAD_SIZE], *content;

		if (message_read_head(data + at, &head))
			break;
		require(head.size <= MESSAGE_SIZE_MAX && head.recording < MESSAGE_RECORDINGS_MAX);
		message_write_head(&head, written);
		require(!memcmp(written, data + at, sizeof(written)));
		at += MESSAGE_HEAD_SIZE;
		if (head.size > size - at)
			break;
		// Of its own, and of exactly this size, so that a byte too much is found.
		content = malloc(head.size ? head.size : 1);
		require(content != NULL);
		memcpy(content, data + at, head.size);
		at += head.size;
		if (!message_read(&head, content, &message)) {
			require(message.kind == head.kind && message.recording == head.recording);
			check_message(&message);
		}
		free(content);
	}
	return 0;
}
