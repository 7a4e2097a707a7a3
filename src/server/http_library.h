/*
 * libmicrohttpd, loaded when a server begins: with it come GnuTLS and nine more libraries, and to
 * load these was more than half of what it cost to start mallow, for whatever: a third of the
 * report at the end of a program (mallow live).
 */
#ifndef MALLOW_SERVER_HTTP_LIBRARY_H
#define MALLOW_SERVER_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "hosted/err.h"

/* X(what we call of MHD_…) */
#define HTTP_LIBRARY(X)                                                                            \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(get_connection_info)                                                                     \
	X(lookup_connection_value)                                                                 \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(add_response_header)                                                                     \
	X(queue_response)                                                                          \
	X(destroy_response)

struct http_library {
#define X(name) __typeof__(MHD_##name) *name;
	HTTP_LIBRARY(X)
#undef X
};

/* Of NULLs until http_library_load() succeeded. */
extern struct http_library http_library;

/* Before any other thread may call it. Never unloaded. An error: it is not installed. */
struct err *http_library_load(void);

#endif
