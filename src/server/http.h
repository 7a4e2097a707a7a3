/*
 * The HTTP server: sockets, limits, headers. One thread for each connection, so that a long answer
 * to one client keeps no other waiting.
 */
#ifndef MALLOW_SERVER_HTTP_H
#define MALLOW_SERVER_HTTP_H

#include <stdint.h>

#include "hosted/err.h"
#include "server/catalog.h"

struct http_server;

struct http_options {
	const char *interface;     /* an address, or a name that stands for one */
	uint16_t port;             /* 0: any that is free */
	const char *token;         /* NULL: none is asked for */
	bool insecure;             /* other machines may come without one */
	const char *allow_origins; /* by commas; NULL: none */
	unsigned int timeout_s;    /* of clients that are slow: deadline.h */
};

/*
 * Serves from now on until http_stop(). The strings and the catalog are borrowed. SIGPIPE must be
 * ignored, and signals that end the process blocked in the caller, whose mask the threads inherit.
 */
struct err *http_start(const struct http_options *options, struct catalog *catalog,
		       struct http_server **ret);

/* "http://127.0.0.1:8080", valid until http_stop(). */
const char *http_address(const struct http_server *server);

/* Ends all connections, whatever they were doing. Accepts NULL. */
void http_stop(struct http_server *server);

#endif
