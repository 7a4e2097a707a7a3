/* Shapes that several routes' JSON has: as clients of the REST API know them, docs/rest-api.md. */
#ifndef MALLOW_SERVER_REST_JSON_H
#define MALLOW_SERVER_REST_JSON_H

#include "analysis/recording.h"
#include "hosted/json_writer.h"

/* {"secs":1,"fract_nsecs":2} */
void rest_json_field_time(struct json_writer *json, const char *key, uint64_t ns);

/*
 * A moment of the recording thrice: by the wall clock, since the start, and as a part of the run.
 * key is the first one's, the others have _relative and _relative_p behind it.
 */
void rest_json_field_moment(struct json_writer *json, const char *key, uint64_t since_start_ns,
			    const struct recording_facts *facts);

/* An address as a number, and with _s behind the key as sixteen hexadecimal digits. */
void rest_json_field_address(struct json_writer *json, const char *key, uint64_t address);

/* The thread's tid; null for RECORDING_NONE. */
void rest_json_field_thread(struct json_writer *json, const struct recording *recording,
			    uint32_t thread);

#endif
