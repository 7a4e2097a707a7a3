#include "stream/link/message.h"

#include <string.h>

#include "base/bytes.h"
#include "stream/link/foreign_text.h"
#include "trace/cursor.h"
#include "trace/format.h"

static const uint8_t magic[8] = {0x89, 'M', 'L', 'S', '\r', '\n', 0x1a, '\n'};

#define ROLE_AT   10
#define NUMBER_AT 16
#define HOST_AT   32
#define HOST_SIZE 32

const char *message_read_greeting(const uint8_t bytes[MESSAGE_GREETING_SIZE],
				  struct message_greeting *ret)
{
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return "it is no sender and no receiver of recordings";
	if (bytes_u16(bytes + 8) != MESSAGE_VERSION)
		return "it speaks another version of the protocol";
	if (bytes[ROLE_AT] != MESSAGE_SENDER && bytes[ROLE_AT] != MESSAGE_RECEIVER)
		return "it is neither a sender nor a receiver";
	ret->role = bytes[ROLE_AT];
	memcpy(ret->number, bytes + NUMBER_AT, sizeof(ret->number));
	foreign_text(bytes + HOST_AT, HOST_SIZE, '?', ret->host, sizeof(ret->host));
	return NULL;
}

void message_write_greeting(const struct message_greeting *greeting,
			    uint8_t ret[MESSAGE_GREETING_SIZE])
{
	const uint16_t version = MESSAGE_VERSION;

	memset(ret, 0, MESSAGE_GREETING_SIZE);
	memcpy(ret, magic, sizeof(magic));
	memcpy(ret + 8, &version, sizeof(version));
	ret[ROLE_AT] = greeting->role;
	memcpy(ret + NUMBER_AT, greeting->number, sizeof(greeting->number));
	memcpy(ret + HOST_AT, greeting->host, strnlen(greeting->host, HOST_SIZE));
}

const char *message_read_head(const uint8_t bytes[MESSAGE_HEAD_SIZE], struct message_head *ret)
{
	struct message_head head = {
		.size = bytes_u32(bytes),
		.kind = bytes_u32(bytes + 4),
		.recording = bytes_u32(bytes + 8),
	};

	if (head.size > MESSAGE_SIZE_MAX)
		return "a message is too long";
	if (head.recording >= MESSAGE_RECORDINGS_MAX)
		return "a recording's number is too large";
	*ret = head;
	return NULL;
}

void message_write_head(const struct message_head *head, uint8_t ret[MESSAGE_HEAD_SIZE])
{
	memcpy(ret, &head->size, 4);
	memcpy(ret + 4, &head->kind, 4);
	memcpy(ret + 8, &head->recording, 4);
}

static uint32_t get_u32(struct cursor *cursor)
{
	const uint8_t *bytes = cursor_bytes(cursor, 4);

	return bytes ? bytes_u32(bytes) : 0;
}

static uint64_t get_u64(struct cursor *cursor)
{
	const uint8_t *bytes = cursor_bytes(cursor, 8);

	return bytes ? bytes_u64(bytes) : 0;
}

/* All that is left, which is no failure if it is nothing. */
static const uint8_t *get_rest(struct cursor *cursor, uint32_t *size)
{
	*size = (uint32_t)cursor_left(cursor);
	return cursor_bytes(cursor, *size);
}

static void get_offer(struct cursor *cursor, struct message *message)
{
	message->offer.page = cursor_bytes(cursor, TRACE_PAGE);
	message->offer.name = get_rest(cursor, &message->offer.name_size);
	if (message->offer.name_size > MESSAGE_NAME_MAX)
		cursor_fail(cursor);
}

static void get_data(struct cursor *cursor, struct message *message)
{
	if (message->kind == MESSAGE_FILE)
		message->data.request = get_u32(cursor);
	message->data.offset = get_u64(cursor);
	message->data.data = get_rest(cursor, &message->data.size);
	if (message->data.size > MESSAGE_DATA_MAX ||
	    message->data.offset > (uint64_t)INT64_MAX - message->data.size)
		cursor_fail(cursor);
}

/* Ranges: in order, without overlap. */
static void get_have(struct cursor *cursor, struct message *message)
{
	uint32_t size;
	uint64_t end = 0;

	message->have.ranges = get_rest(cursor, &size);
	message->have.count = size / 16;
	if (size % 16)
		cursor_fail(cursor);
	for (uint32_t i = 0; i < message->have.count && !cursor->failed; i++) {
		struct message_range range = message_range(message, i);

		if (range.offset < end || range.size > INT64_MAX ||
		    range.offset > (uint64_t)INT64_MAX - range.size)
			cursor_fail(cursor);
		end = range.offset + range.size;
	}
}

static void get_need(struct cursor *cursor, struct message *message)
{
	message->need.request = get_u32(cursor);
	message->need.what = cursor_u8(cursor);
	cursor_u8(cursor);
	message->need.build_id_size = cursor_u8(cursor);
	message->need.build_id = cursor_bytes(cursor, message->need.build_id_size);
	if ((message->need.what != MESSAGE_MODULE && message->need.what != MESSAGE_DEBUG_FILE) ||
	    message->need.build_id_size < 1 || message->need.build_id_size > MESSAGE_BUILD_ID_MAX)
		cursor_fail(cursor);
}

const char *message_read(const struct message_head *head, const uint8_t *content,
			 struct message *ret)
{
	struct cursor cursor = cursor_make(content, head->size);
	struct message message = {.kind = head->kind, .recording = head->recording};

	switch (head->kind) {
	case MESSAGE_RECORDING:
		get_offer(&cursor, &message);
		break;
	case MESSAGE_WRITE:
	case MESSAGE_FILE:
		get_data(&cursor, &message);
		break;
	case MESSAGE_END:
	case MESSAGE_ACKNOWLEDGE:
		message.number = get_u64(&cursor);
		break;
	case MESSAGE_FILE_END:
		message.file_end.request = get_u32(&cursor);
		message.file_end.absent = cursor_u8(&cursor);
		break;
	case MESSAGE_HAVE:
		get_have(&cursor, &message);
		break;
	case MESSAGE_REFUSE:
		message.refusal.reason = cursor_u8(&cursor);
		message.refusal.text = get_rest(&cursor, &message.refusal.size);
		break;
	case MESSAGE_NEED:
		get_need(&cursor, &message);
		break;
	case MESSAGE_FAULT:
		message.fault.text = get_rest(&cursor, &message.fault.size);
		break;
	default: // no content, or a kind of a later version
		break;
	}
	if (cursor.failed)
		return "a message is malformed";
	*ret = message;
	return NULL;
}

struct message_range message_range(const struct message *have, uint32_t i)
{
	const uint8_t *range = have->have.ranges + 16u * i;

	return (struct message_range){.offset = bytes_u64(range), .size = bytes_u64(range + 8)};
}
