/*
 * The HTTP server: sockets and limits. Each connection has a thread, so that a long answer to one
 * client does not make another wait.
 */
#ifndef MALLOW_SERVER_HTTP_HTTP_H
#define MALLOW_SERVER_HTTP_HTTP_H

#include <stdint.h>

#include "hosted/cleanup.h"
#include "hosted/net/socket_peer.h"
#include "server/data/catalog.h"
#include "server/http/session.h"

struct http_server;

struct http_options {
	const char *interface;     /* an address or a host name */
	uint16_t port;             /* 0: any free port */
	const char *token;         /* NULL: no token is asked for */
	struct socket_trust trust; /* who needs no token */
	const char *allow_origins; /* separated by commas; NULL: none */
	unsigned int timeout_s;    /* how long a slow client may take: deadline.h */
};

/*
 * Serves until http_stop(). The strings and the catalog are borrowed. SIGPIPE must be ignored.
 * Signals that end the process must be blocked in the caller, because the server's threads inherit
 * its mask.
 */
struct err *http_start(const struct http_options *options, struct catalog *catalog,
		       struct http_server **ret);

/* "http://127.0.0.1:8080", valid until http_stop(). */
const char *http_address(const struct http_server *server);

/* Makes a code that opens the page once, by /?code=CODE, where a token is asked for: session.h. */
struct err *http_code(struct http_server *server, char ret[SESSION_TEXT]);

/* Ends all connections, whatever they are doing. Accepts NULL. */
void http_stop(struct http_server *server);
CLEANUP_DEFINE(struct http_server *, http_stop);

#endif
