/*
 * Checks the head of a request again. libmicrohttpd accepts some that RFC 9112 wants refused; it
 * may then see another request than a proxy before it did.
 */
#ifndef MALLOW_SERVER_HTTP_HEAD_H
#define MALLOW_SERVER_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

#include "hosted/err.h"

/*
 * Returns an error if the request is to be refused. These are: a header that is folded, ends in a
 * bare LF, contains a control character, has a malformed name, or occurs twice although a request
 * has only one; two lengths of the body, or one that makes no sense; no Host. Call it when the
 * whole head is there. method, path and version must be libmicrohttpd's own strings; target is a
 * copy of the whole target that MHD_OPTION_URI_LOG_CALLBACK got.
 */
struct err *head_check(struct MHD_Connection *connection, const char *method, const char *path,
		       const char *target, const char *version);

/*
 * Whether libmicrohttpd is to be strict itself (MHD_OPTION_STRICT_FOR_CLIENT). From version 1.0 on
 * it then refuses what head_check() cannot see. Earlier versions let that pass anyway, and answer
 * what they refuse with two heads, or not at all.
 */
bool head_is_checked_by_library(void);

/* The value of a field. NULL: it has none. */
const char *head_field(struct MHD_Connection *connection, const char *name);

/*
 * Whether some member of a list passes a test. The list may be spread over several fields of that
 * name.
 */
typedef bool head_test(const char *values, const void *argument);
bool head_any_field(struct MHD_Connection *connection, const char *name, head_test *test,
		    const void *argument);

#endif
