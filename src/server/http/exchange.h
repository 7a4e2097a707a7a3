/* A request and its answer in HTTP: who may ask, headers, and how the body is sent. */
#ifndef MALLOW_SERVER_HTTP_EXCHANGE_H
#define MALLOW_SERVER_HTTP_EXCHANGE_H

#include <microhttpd.h>

#include "hosted/net/socket_peer.h"
#include "server/data/catalog.h"
#include "server/http/deadline.h"
#include "server/http/pause.h"
#include "server/http/security.h"
#include "server/http/session.h"

/* A connection: its socket context. */
struct exchange_client {
	struct deadline *deadline;
	bool trusted; /* socket_peer_refuse(): it needs no token */
};

/* What all requests share. It is the argument of the functions below. */
struct exchange_context {
	struct catalog *catalog;
	struct deadlines *deadlines;
	struct pause *pause;
	struct security security;
	struct session *session;
	struct socket_trust trust;
	const char *address; /* the server's, for messages */
};

/*
 * libmicrohttpd's callbacks: for the request line, for each part of the request, and for its end.
 */
void *exchange_begin(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_handle(void *context, struct MHD_Connection *connection, const char *path,
				const char *method, const char *version, const char *upload,
				size_t *upload_size, void **state);
void exchange_end(void *context, struct MHD_Connection *connection, void **state,
		  enum MHD_RequestTerminationCode code);

#endif
