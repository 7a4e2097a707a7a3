#include "server/http/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hosted/net/socket_place.h"

/*
 * How much of an answer the kernel may hold before the client takes it; connections inherit this.
 * Left alone the kernel holds megabytes. Then the server would not notice for minutes that a slow
 * client does read.
 */
#define SEND_ROOM (256 << 10)

struct err *listen_on(const char *interface, uint16_t port, struct listening *ret)
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
