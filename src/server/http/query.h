/*
 * The target of a request, "/path?name=value&name=value": its parts, decoded, and what they mean
 * for the request: parameters, conditions, and those of the other side of a difference.
 */
#ifndef MALLOW_SERVER_HTTP_QUERY_H
#define MALLOW_SERVER_HTTP_QUERY_H

#include <stddef.h>

#include "hosted/err.h"
#include "hosted/vec.h"

struct request;
struct reply;

struct query_item {
	const char *name;
	const char *value; /* "": empty, or not given */
};

struct query {
	char *text;       /* owned; the others point into it */
	const char *path; /* not decoded: no path of ours needs that */
	VEC(struct query_item) items;
};

/*
 * Parses a target. "%41" is a byte and '+' a blank. A '%' without two hexadecimal digits behind it
 * stands for itself, because people write 50% as it is. An error: a name or a value contains a zero
 * byte, or no memory.
 */
struct err *query_parse(const char *target, struct query *ret);
/* Accepts a zeroed struct. */
void query_deinit(struct query *query);

/*
 * Sets what the query of a request says: its values, and request->before if some of it begins with
 * "b.". Its query and its route must be set. If it is wrong, the reply says so.
 */
struct err *query_take(struct request *request, struct reply *reply);

#endif
