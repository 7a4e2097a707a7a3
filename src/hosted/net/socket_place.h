/* Where to connect to, or to listen: a host and a port, as users write them. */
#ifndef MALLOW_HOSTED_NET_SOCKET_PLACE_H
#define MALLOW_HOSTED_NET_SOCKET_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

#define SOCKET_PLACE_HOST 256

struct socket_place {
	char host[SOCKET_PLACE_HOST]; /* a name or an address, without brackets */
	uint16_t port;                /* 0: not said, and no standard was given */
};

/*
 * Reads HOST, HOST:PORT, [ADDRESS6], [ADDRESS6]:PORT or ADDRESS6. standard_port: if none is said.
 * An error has the text in it, and says what is allowed.
 */
struct err *socket_place_parse(const char *text, uint16_t standard_port, struct socket_place *ret);

/* *ret: whether all addresses of the host are this machine's loopback. Asks the resolver. */
struct err *socket_place_loopback(const struct socket_place *place, bool *ret);

/*
 * Listens at the first free port of place->port … last_port (0, 0: any). *port: which. The socket
 * is close-on-exec, and the caller's.
 */
struct err *socket_place_listen(const struct socket_place *place, uint16_t last_port, int *socket,
				uint16_t *port);

#endif
