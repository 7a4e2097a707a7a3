/* The target of a request, "/path?name=value&name=value", taken apart and decoded. */
#ifndef MALLOW_SERVER_QUERY_H
#define MALLOW_SERVER_QUERY_H

#include <stddef.h>

#include "hosted/err.h"
#include "hosted/vec.h"

struct query_item {
	const char *name;
	const char *value; /* "": empty, or none was given */
};

struct query {
	char *text;       /* owned, what the others point into */
	const char *path; /* as it came: no path of ours needs decoding */
	VEC(struct query_item) items;
};

/*
 * An error where a name or value holds a zero byte, or there is no memory. "%41" is a byte and '+'
 * a blank; a '%' that no two hex digits follow stands for itself, for people write 50% as it is.
 */
struct err *query_parse(const char *target, struct query *ret);
/* Accepts a zeroed struct. */
void query_deinit(struct query *query);

#endif
