/* Where to connect to, or to listen: a host and a port, as users write them. */
#ifndef MALLOW_HOSTED_NET_SOCKET_PLACE_H
#define MALLOW_HOSTED_NET_SOCKET_PLACE_H

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"

#define SOCKET_PLACE_HOST 256
#define SOCKET_TEXT       96 /* of an address as text, with a port and a NUL */

struct socket_place {
	char host[SOCKET_PLACE_HOST]; /* a name or an address, without brackets */
	uint16_t port;                /* 0: not said, and no standard was given */
};

/*
 * Reads HOST, HOST:PORT, [ADDRESS6], [ADDRESS6]:PORT or ADDRESS6. standard_port: if none is said.
 * The port may be 0, which means any free one to socket_place_listen(). An error has the text in
 * it, and says what is allowed.
 */
struct err *socket_place_parse(const char *text, uint16_t standard_port, struct socket_place *ret);

/*
 * Asks the resolver for all addresses of the place, for TCP. That blocks for as long as the
 * resolver likes. passive: to listen there. Declare *ret with auto_addrinfo; it has an entry at
 * least.
 */
struct err *socket_place_find(const struct socket_place *place, bool passive,
			      struct addrinfo **ret);

/* *ret: whether all addresses of the host are this machine's loopback. Asks the resolver. */
struct err *socket_place_loopback(const struct socket_place *place, bool *ret);

/*
 * Listens at the first free port of place->port … last_port (0, 0: any). *port: which. Of a host
 * with several addresses it is the first that this machine has. The socket is close-on-exec, and
 * the caller's.
 */
struct err *socket_place_listen(const struct socket_place *place, uint16_t last_port, int *socket,
				uint16_t *port);

/* An address of a socket. any.sa_family tells which of them it is: one of IP, or another. */
union socket_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage storage;
};

/* Whether that is 127.0.0.0/8 or ::1: it leads to this machine, on every machine. */
bool socket_address_loopback(const union socket_address *address);
/* Whether that is 0.0.0.0 or ::, which is every interface to who listens. */
bool socket_address_wildcard(const union socket_address *address);
/* 0: it is no address of IP. */
uint16_t socket_address_port(const union socket_address *address);
/*
 * "10.0.0.7:8100", "[::1]:8100"; "a local socket" if it is no address of IP. Who listens at :: sees
 * an IPv4 client as ::ffff:10.0.0.7; the text is that of IPv4.
 */
void socket_address_text(const union socket_address *address, char ret[SOCKET_TEXT]);

CLEANUP_DEFINE(struct addrinfo *, freeaddrinfo);
#define auto_addrinfo cleanup(freeaddrinfo_at)

#endif
