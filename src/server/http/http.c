#include "server/http/http.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/net/socket_place.h"
#include "server/http/exchange.h"
#include "server/http/head.h"
#include "server/http/mhd_library.h"

#define CONNECTIONS_MAX 256u
#define ADDRESS_MAX     104
#define HEAD_MAX        (64u << 10) /* bytes of request line and headers */

/* Descriptors. A connection has its socket, the copy for deadline.h, and files that it reads. */
#define DESCRIPTORS_OF_ONE 4u
#define DESCRIPTORS_OF_ALL 16u

/*
 * How much of an answer the kernel may hold before the client takes it; connections inherit this.
 * Left alone the kernel holds megabytes. Then the server would not notice for minutes that a slow
 * client does read.
 */
#define SEND_ROOM (256 << 10)

LATE_LIBRARY_OPEN(mhd, MHD_FUNCTIONS, "libmicrohttpd.so.12")

struct http_server {
	struct MHD_Daemon *daemon;
	struct exchange_context context;
	struct session session;
	char address[ADDRESS_MAX];
	/*
	 * Connections of clients whose user is not trusted: a part of all, so that they keep nobody
	 * out. They may have the token.
	 */
	atomic_uint strangers;
	unsigned int strangers_most;
};

static void notify_connection(void *argument, struct MHD_Connection *connection, void **state,
			      enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = argument;
	struct exchange_client *client = *state;
	int fd = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		if (client && !client->trusted)
			server->strangers--;
		if (client)
			deadline_end(server->context.deadlines, client->deadline);
		free(client);
		return;
	}
	client = *state = calloc(1, sizeof(*client));
	if (client) {
		struct socket_trust trust = server->context.trust;

		// A cookie counts by this alone, however insecure the rest is.
		trust.all = trust.all && !server->context.security.token;
		// Now, before a byte is read: who has closed is nobody any more.
		auto_err struct err *stranger = socket_peer_refuse(fd, &trust);

		client->trusted = !stranger;
		if (client->trusted || server->strangers++ < server->strangers_most)
			client->deadline = deadline_begin(server->context.deadlines, fd);
	}
	if (!client || !client->deadline)
		shutdown(fd, SHUT_RDWR); // without a deadline it might never end
}

static size_t keep_as_it_is(void *argument, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

void http_stop(struct http_server *server)
{
	if (!server)
		return;
	if (server->context.pause)
		pause_end(server->context.pause);
	if (server->daemon)
		mhd.stop_daemon(server->daemon);
	pause_destroy(server->context.pause);
	deadlines_destroy(server->context.deadlines);
	session_deinit(&server->session);
	free(server);
}

const char *http_address(const struct http_server *server)
{
	return server->address;
}

struct err *http_code(struct http_server *server, char ret[SESSION_TEXT])
{
	return session_code(&server->session, ret);
}

/* The socket that clients connect to. */
struct listening {
	int fd;
	bool loopback;             /* only this machine can connect */
	bool wildcard;             /* it listens on every interface */
	char address[ADDRESS_MAX]; /* "http://127.0.0.1:8080" */
};

/* interface: an address or a host name. port 0: any free port. The caller closes ret->fd. */
static struct err *listen_on(const char *interface, uint16_t port, struct listening *ret)
{
	struct socket_place place = {.port = port};
	union socket_address bound = {0};
	socklen_t size = sizeof(bound);
	const int room = SEND_ROOM;
	char text[SOCKET_TEXT];
	auto_close int fd = -1;
	struct err *err;

	if (strlen(interface) >= sizeof(place.host))
		return err_create("no interface '%s': it is too long", interface);
	strcpy(place.host, interface);
	err = socket_place_listen(&place, 0, &fd, &port);
	if (err)
		return err;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) < 0 ||
	    getsockname(fd, &bound.any, &size) < 0)
		return err_create_errno(errno, "cannot listen at %s, port %u", interface, port);
	socket_address_text(&bound, text);
	ret->fd = fd;
	ret->loopback = socket_address_loopback(&bound);
	ret->wildcard = socket_address_wildcard(&bound);
	snprintf(ret->address, sizeof(ret->address), "http://%s", text);
	fd = -1;
	return NULL;
}

static struct err *check_access(const struct http_options *options, const struct listening *at)
{
	if (options->token && !at->loopback && strlen(options->token) < SOCKET_TOKEN_LEAST)
		return err_create("other machines can reach '%s', and a token of %zu characters "
				  "can be guessed: %d are hard to",
				  options->interface, strlen(options->token), SOCKET_TOKEN_LEAST);
	if (at->loopback || options->trust.all || options->token)
		return NULL;
	return err_create("other machines can reach '%s': --token-file FILE keeps out who does not "
			  "know the token, --insecure lets all in",
			  options->interface);
}

/*
 * The most connections: as many as there are descriptors for. The limit of descriptors is raised as
 * far as allowed.
 */
static unsigned int connections_max(void)
{
	rlim_t limit = descriptors_raise();
	rlim_t most = 1;

	if (!limit)
		return CONNECTIONS_MAX;
	if (limit > DESCRIPTORS_OF_ALL)
		most = (limit - DESCRIPTORS_OF_ALL) / DESCRIPTORS_OF_ONE;
	return most < 2 ? 2 : most < CONNECTIONS_MAX ? (unsigned int)most : CONNECTIONS_MAX;
}

static struct err *start_daemon(struct http_server *server, int fd)
{
	unsigned int connections = connections_max();

	server->strangers_most = connections / 2;
	server->daemon = mhd.start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0,
		NULL, NULL, exchange_handle, &server->context, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, &server->context,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_as_it_is, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		exchange_end, &server->context, MHD_OPTION_NOTIFY_CONNECTION, notify_connection,
		server, MHD_OPTION_CONNECTION_LIMIT, connections,
		// One address cannot take all connections; strangers, who may have the same one,
		// get fewer.
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections - connections / 4,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX, MHD_OPTION_STRICT_FOR_CLIENT,
		(int)head_is_checked_by_library(), MHD_OPTION_END);
	return server->daemon ? NULL
			      : err_create_errno(errno, "cannot serve at %s", server->address);
}

/* Starts libmicrohttpd. On failure the socket stays the caller's. */
static struct err *start_server(struct http_server *server, const struct http_options *options,
				struct catalog *catalog, const struct listening *at)
{
	struct err *err = check_access(options, at);

	if (!err)
		err = mhd_library_open();
	if (err)
		return err;
	socket_peer_prepare();
	memcpy(server->address, at->address, sizeof(server->address));
	session_name(&server->session, strrchr(at->address, ':') + 1);
	server->context = (struct exchange_context){
		.catalog = catalog,
		.security =
			{
				.interface = options->interface,
				.wildcard = at->wildcard,
				.token = options->token,
				.origins = options->allow_origins,
			},
		.trust = options->trust,
		.session = &server->session,
		.address = server->address,
	};
	err = pause_create(&server->context.pause);
	if (!err)
		err = deadlines_create(options->timeout_s, &server->context.deadlines);
	return err ? err : start_daemon(server, at->fd);
}

struct err *http_start(const struct http_options *options, struct catalog *catalog,
		       struct http_server **ret)
{
	cleanup(http_stop_at) struct http_server *server = calloc(1, sizeof(*server));
	struct listening at;
	struct err *err;

	if (!server)
		return err_no_memory();
	err = session_init(&server->session);
	if (!err)
		err = listen_on(options->interface, options->port, &at);
	if (err)
		return err;
	err = start_server(server, options, catalog, &at);
	if (err) {
		close(at.fd);
		return err;
	}
	*ret = steal(&server);
	return NULL;
}
