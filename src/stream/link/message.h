/*
 * The messages that senders and receivers exchange: docs/streaming.md, "The protocol". Bytes in,
 * values out; no I/O.
 */
#ifndef MALLOW_STREAM_LINK_MESSAGE_H
#define MALLOW_STREAM_LINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_VERSION        1u
#define MESSAGE_GREETING_SIZE  64u
#define MESSAGE_HEAD_SIZE      12u
#define MESSAGE_NUMBER_SIZE    16u                     /* of a sender or receiver */
#define MESSAGE_DATA_MAX       (1u << 20)              /* bytes of a file in one message */
#define MESSAGE_SIZE_MAX       (MESSAGE_DATA_MAX + 64) /* of a message's content */
#define MESSAGE_NAME_MAX       255u                    /* of a program's name */
#define MESSAGE_RECORDINGS_MAX 65536u                  /* of one connection */
#define MESSAGE_BUILD_ID_MAX   64u
#define MESSAGE_PORT           8200u /* where receivers listen; below those that the kernel gives away */
#define MESSAGE_BEACON_PORT    43512u /* of UDP */
#define MESSAGE_PING_MS        5000
#define MESSAGE_SILENCE_MS     20000
#define MESSAGE_GREETING_MS    10000

enum message_role { MESSAGE_SENDER = 1, MESSAGE_RECEIVER = 2 };

enum message_kind {
	MESSAGE_RECORDING = 1,
	MESSAGE_WRITE = 2,
	MESSAGE_END = 3,
	MESSAGE_PING = 4,
	MESSAGE_FILE = 5,
	MESSAGE_FILE_END = 6,
	MESSAGE_HAVE = 16,
	MESSAGE_REFUSE = 17,
	MESSAGE_ACKNOWLEDGE = 18,
	MESSAGE_NEED = 19,
	MESSAGE_DONE = 20,
	MESSAGE_FAULT = 21,
};

enum message_refusal {
	MESSAGE_COMPLETE = 1,
	MESSAGE_TAKEN = 2,
	MESSAGE_IMPOSSIBLE = 3,
	MESSAGE_LATER = 4,
};

enum message_file { MESSAGE_MODULE = 1, MESSAGE_DEBUG_FILE = 2 };

struct message_greeting {
	uint8_t role; /* enum message_role */
	uint8_t number[MESSAGE_NUMBER_SIZE];
	char host[33]; /* with a NUL; no control characters */
};

struct message_head {
	uint32_t size;
	uint32_t kind;
	uint32_t recording;
};

/* A range of a file. */
struct message_range {
	uint64_t offset, size;
};

/* A message's content. Which member is meant follows from the kind. Pointers lead into `content`.
 */
struct message {
	uint32_t kind;
	uint32_t recording;
	union {
		struct {
			const uint8_t *page; /* 4096 bytes */
			const uint8_t *name; /* no NUL */
			uint32_t name_size;
		} offer; /* MESSAGE_RECORDING */
		struct {
			uint64_t offset;
			const uint8_t *data;
			uint32_t size;
			uint32_t request; /* MESSAGE_FILE alone */
		} data;                   /* MESSAGE_WRITE, MESSAGE_FILE */
		uint64_t number;          /* MESSAGE_END: a size; MESSAGE_ACKNOWLEDGE: a count */
		struct {
			uint32_t request;
			uint8_t absent;
		} file_end;
		struct {
			const uint8_t *ranges; /* for message_range() */
			uint32_t count;
		} have;
		struct {
			uint8_t reason;
			const uint8_t *text; /* no NUL */
			uint32_t size;
		} refusal;
		struct {
			uint32_t request;
			uint8_t what; /* enum message_file */
			const uint8_t *build_id;
			uint32_t build_id_size; /* 1 … MESSAGE_BUILD_ID_MAX */
		} need;
		struct {
			const uint8_t *text; /* no NUL */
			uint32_t size;
		} fault;
	};
};

/* NULL, or what is wrong; static. */
const char *message_read_greeting(const uint8_t bytes[MESSAGE_GREETING_SIZE],
				  struct message_greeting *ret);
void message_write_greeting(const struct message_greeting *greeting,
			    uint8_t ret[MESSAGE_GREETING_SIZE]);

/* NULL, or what is wrong; static. */
const char *message_read_head(const uint8_t bytes[MESSAGE_HEAD_SIZE], struct message_head *ret);
void message_write_head(const struct message_head *head, uint8_t ret[MESSAGE_HEAD_SIZE]);

/*
 * Reads head->size bytes of content. Of a kind that is not known, only kind and recording are set.
 * NULL, or what is wrong; static.
 */
const char *message_read(const struct message_head *head, const uint8_t *content,
			 struct message *ret) __attribute__((nonnull));

/* Range i of a MESSAGE_HAVE. */
struct message_range message_range(const struct message *have, uint32_t i);

#endif
