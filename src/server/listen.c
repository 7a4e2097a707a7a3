#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct addrinfo *, freeaddrinfo);

/* Sets the address that the socket is bound to, as a URL. */
static struct err *describe(struct listening *listening)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} bound = {0};
	const struct sockaddr_in *v4 = &bound.v4;
	const struct sockaddr_in6 *v6 = &bound.v6;
	socklen_t size = sizeof(bound);
	char text[INET6_ADDRSTRLEN] = "";

	if (getsockname(listening->fd, &bound.any, &size) < 0)
		return err_create_errno(errno, "cannot tell the address of a socket");
	if (bound.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		listening->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		listening->wildcard = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
		snprintf(listening->address, sizeof(listening->address), "http://[%s]:%u", text,
			 ntohs(v6->sin6_port));
		return NULL;
	}
	inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
	listening->loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	listening->wildcard = v4->sin_addr.s_addr == INADDR_ANY;
	snprintf(listening->address, sizeof(listening->address), "http://%s:%u", text,
		 ntohs(v4->sin_port));
	return NULL;
}

/*
 * How much of an answer the kernel may hold before the client takes it; connections inherit this.
 * Left alone the kernel holds megabytes. Then the server would not notice for minutes that a slow
 * client does read.
 */
#define SEND_ROOM (256 << 10)

struct err *listen_on(const char *interface, uint16_t port, struct listening *ret)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	cleanup(freeaddrinfo_at) struct addrinfo *found = NULL;
	struct listening listening = {0};
	struct err *err;
	char service[8];
	int status, on = 1, room = SEND_ROOM;

	snprintf(service, sizeof(service), "%u", port);
	status = getaddrinfo(interface, service, &hints, &found);
	if (status)
		return err_create("no interface '%s': %s", interface, gai_strerror(status));

	auto_close int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	// Connections of a server that ended a moment ago would otherwise keep the port.
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) < 0 ||
	    bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return err_create_errno(errno, "cannot listen at %s, port %u", interface, port);
	listening.fd = fd;
	err = describe(&listening);
	if (err)
		return err;
	fd = -1;
	*ret = listening;
	return NULL;
}
