/*
 * The head of a request, looked at again: libmicrohttpd takes some that RFC 9112 wants refused, and
 * then sees another request than a proxy in front of it may have seen.
 */
#ifndef MALLOW_SERVER_HEAD_H
#define MALLOW_SERVER_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

#include "hosted/err.h"

/*
 * An error where it is to be refused: a header that is folded, ends in a bare LF, holds a control
 * character, has a malformed name, or is there twice where one request has one; two lengths of the
 * body, or one that cannot be understood; no Host. Call it when all of the head is there. method,
 * path and version are libmicrohttpd's own strings; target is a copy of the whole target as
 * MHD_OPTION_URI_LOG_CALLBACK had it.
 */
struct err *head_check(struct MHD_Connection *connection, const char *method, const char *path,
		       const char *target, const char *version);

/*
 * Whether libmicrohttpd itself is to be strict, MHD_OPTION_STRICT_FOR_CLIENT: from version 1.0 on
 * it refuses what head_check() cannot see there. Those before let it pass all the same, and answer
 * what they do refuse with two heads, or not at all.
 */
bool head_is_checked_by_library(void);

/* A field's value; NULL: it has none. */
const char *head_field(struct MHD_Connection *connection, const char *name);

/* Whether a list that may be spread over several fields of that name has a member of which so. */
typedef bool head_test(const char *values, const void *argument);
bool head_any_field(struct MHD_Connection *connection, const char *name, head_test *test,
		    const void *argument);

#endif
