/*
 * Reads JSON (RFC 8259) value by value, from bytes in memory. Failure is sticky: after it every
 * call gives nothing, and json_reader_finish() says where it was.
 *
 *	json_reader_enter(&json, '{');
 *	while (json_reader_key(&json, &key))
 *		if (span_is(key, "te"))
 *			end = json_reader_number(&json);
 *		else
 *			json_reader_skip(&json);
 */
#ifndef MALLOW_IMPORT_JSON_READER_H
#define MALLOW_IMPORT_JSON_READER_H

#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/err.h"
#include "import/span.h"

struct json_reader {
	const char *name; /* of the file, for messages */
	const char *start, *at, *end;
	const char *expected; /* what was not there: it has failed; NULL: not so far */
	struct arena *arena;  /* for texts with escapes */
	unsigned int depth;
	bool first; /* nothing was taken of the object or array that was entered last */
};

/* Enters an object '{' or an array '['. false: something else stands there. */
bool json_reader_enter(struct json_reader *json, char open);
/* Goes to the next key of the present object. false: there is none, and the object is left. */
bool json_reader_key(struct json_reader *json, struct span *ret);
/* Goes to the next item of the present array. false: there is none, and the array is left. */
bool json_reader_item(struct json_reader *json);

/* Takes a text. Escapes are resolved, surrogates to U+FFFD. */
struct span json_reader_text(struct json_reader *json);
/* Takes a number from 0 on, without what stands behind its point. */
uint64_t json_reader_number(struct json_reader *json);
/* Takes any value. */
void json_reader_skip(struct json_reader *json);

/* NULL: nothing failed. The error says which offset, and what was expected there. */
struct err *json_reader_finish(const struct json_reader *json);

#endif
