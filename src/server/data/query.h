/* Parses and decodes the target of a request, "/path?name=value&name=value". */
#ifndef MALLOW_SERVER_DATA_QUERY_H
#define MALLOW_SERVER_DATA_QUERY_H

#include <stddef.h>

#include "hosted/err.h"
#include "hosted/vec.h"

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

#endif
