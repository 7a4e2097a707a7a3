/*
 * Pieces of JSON that several routes write, in the form that clients of the REST API know:
 * docs/rest-api.md.
 */
#ifndef MALLOW_SERVER_ANSWERS_REST_JSON_H
#define MALLOW_SERVER_ANSWERS_REST_JSON_H

#include "analysis/recording.h"
#include "hosted/json_writer.h"

/* {"secs":1,"fract_nsecs":2} */
void rest_json_field_time(struct json_writer *json, const char *key, uint64_t ns);

/*
 * A moment of the recording, as three fields: `key` is the wall clock's time, key_relative the time
 * since the start, and key_relative_p that as a part of the run.
 */
void rest_json_field_moment(struct json_writer *json, const char *key, uint64_t since_start_ns,
			    const struct recording_facts *facts);

/* An address as a number, and as sixteen hexadecimal digits under the key with _s. */
void rest_json_field_address(struct json_writer *json, const char *key, uint64_t address);

/* The thread's tid; null for RECORDING_NONE. */
void rest_json_field_thread(struct json_writer *json, const struct recording *recording,
			    uint32_t thread);

/* Whether a mapping can be read, written and executed: is_readable, is_writable, is_executable. */
void rest_json_field_access(struct json_writer *json, const struct mapping_operation *mapping);

/*
 * An array of one member of each struct of an array: first is where the first struct has it, a
 * uint64_t, and size how large a struct is.
 */
void rest_json_field_column(struct json_writer *json, const char *key, const void *first,
			    size_t size, size_t count);

#endif
