/*
 * Writes JSON into a buf, with commas, indentation and escapes. Misuse (a key in an array, a
 * missing end) fails an assertion.
 *
 *	json_object(&json);
 *	json_field_text(&json, "name", "x");
 *	json_field_array(&json, "calls");
 *	json_u64(&json, 5);
 *	json_end(&json);
 *	json_end(&json);
 */
#ifndef MALLOW_HOSTED_JSON_WRITER_H
#define MALLOW_HOSTED_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"

#define JSON_DEPTH_MAX 64

struct json_writer {
	struct buf *buf;
	bool pretty;
	bool after_key;
	unsigned int depth;
	struct {
		bool array;
		bool filled;
	} levels[JSON_DEPTH_MAX];
};

/*
 * pretty: two spaces for each level, one member on each line, a newline behind the outermost value.
 */
void json_init(struct json_writer *json, struct buf *buf, bool pretty);

void json_object(struct json_writer *json);
void json_array(struct json_writer *json);
/* Closes the innermost object or array. */
void json_end(struct json_writer *json);

void json_key(struct json_writer *json, const char *key);

/* Bytes that are not UTF-8 become U+FFFD. NULL text: null. */
void json_text(struct json_writer *json, const char *text);
void json_bytes(struct json_writer *json, const char *text, size_t size);
void json_u64(struct json_writer *json, uint64_t value);
/* Written as text, "0x1f", because readers of JSON keep no more than 53 bits of a number. */
void json_hex(struct json_writer *json, uint64_t value);
void json_i64(struct json_writer *json, int64_t value);
/* The shortest text that reads back as the same number. null if it is not finite. */
void json_double(struct json_writer *json, double value);
/* With that many digits behind the point, at most 9. null if it is not finite. */
void json_decimal(struct json_writer *json, double value, int digits);
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);
/* Inserts one or more values that another writer has made, with commas between them. */
void json_made(struct json_writer *json, const char *made, size_t size);

/* A key, and its value, which is open then. */
void json_field_object(struct json_writer *json, const char *key);
void json_field_array(struct json_writer *json, const char *key);
/* A key and its value. */
void json_field_text(struct json_writer *json, const char *key, const char *text);
void json_field_u64(struct json_writer *json, const char *key, uint64_t value);
void json_field_hex(struct json_writer *json, const char *key, uint64_t value);
void json_field_i64(struct json_writer *json, const char *key, int64_t value);
void json_field_double(struct json_writer *json, const char *key, double value);
void json_field_bool(struct json_writer *json, const char *key, bool value);

#endif
