#include "hosted/net/socket_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALLOWED                                                                                    \
	"expected HOST, HOST:PORT, ADDRESS, [ADDRESS6] or [ADDRESS6]:PORT, with a port of 0 to "   \
	"65535"

/* Reads the digits of a port, all of text. */
static bool read_port(const char *text, uint16_t *ret)
{
	size_t size = strlen(text);
	unsigned long port;

	if (!size || size > 5 || strspn(text, "0123456789") != size)
		return false;
	port = strtoul(text, NULL, 10);
	if (port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* Whether that is an address of IPv6, maybe with a zone: "fe80::1%eth0". */
static bool is_address6(const char *host)
{
	char address[INET6_ADDRSTRLEN];
	size_t size = strcspn(host, "%");
	struct in6_addr found;

	if (size >= sizeof(address) || (host[size] && !host[size + 1]))
		return false;
	memcpy(address, host, size);
	address[size] = '\0';
	return inet_pton(AF_INET6, address, &found) == 1;
}

/* A name is what a resolver may know: no blanks, no control characters, nothing of a URL. */
static bool is_name(const char *host)
{
	if (!*host)
		return false;
	for (; *host; host++)
		if ((unsigned char)*host <= ' ' || strchr("\x7f/[]@?#", *host))
			return false;
	return true;
}

struct err *socket_place_parse(const char *text, uint16_t standard_port, struct socket_place *ret)
{
	struct socket_place place = {.port = standard_port};
	bool bracket = *text == '[';
	const char *host = text + bracket, *port = NULL;
	size_t size = strlen(host);

	if (bracket) {
		size = strcspn(host, "]");
		port = host[size] ? host + size + 1 : "]";
	} else if (strchr(host, ':') == strrchr(host, ':')) {
		size = strcspn(host, ":");
		port = host + size;
	}
	if (port && *port && (*port != ':' || !read_port(port + 1, &place.port)))
		return err_create("'%s' is no place in a network: " ALLOWED, text);
	if (size >= sizeof(place.host))
		return err_create("'%s' is too long for a host", text);
	memcpy(place.host, host, size);
	if (port && !bracket ? !is_name(place.host) : !is_address6(place.host))
		return err_create("'%s' is no place in a network: " ALLOWED, text);
	*ret = place;
	return NULL;
}

struct err *socket_place_find(const struct socket_place *place, bool passive, struct addrinfo **ret)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0),
	};
	const char *what = passive ? "interface" : "host";
	char service[8];
	int status;

	snprintf(service, sizeof(service), "%u", place->port);
	status = getaddrinfo(place->host, service, &hints, ret);
	if (status == EAI_MEMORY)
		return err_no_memory();
	if (status == EAI_SYSTEM)
		return err_create_errno(errno, "no %s '%s'", what, place->host);
	if (status)
		return err_create("no %s '%s': %s", what, place->host, gai_strerror(status));
	return NULL;
}

/* The resolver's addresses lie in memory that is aligned for them alone. */
static union socket_address address_of(const struct addrinfo *found)
{
	union socket_address ret = {0};

	memcpy(&ret, found->ai_addr, found->ai_addrlen);
	return ret;
}

static const struct sockaddr_in *v4_of(const union socket_address *address)
{
	return address->any.sa_family == AF_INET ? &address->v4 : NULL;
}

static const struct sockaddr_in6 *v6_of(const union socket_address *address)
{
	return address->any.sa_family == AF_INET6 ? &address->v6 : NULL;
}

/* Whether it is an address of IPv4 in one of IPv6: ::ffff:127.0.0.1. */
static bool is_mapped_loopback(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET;
}

bool socket_address_loopback(const union socket_address *address)
{
	const struct sockaddr_in *v4 = v4_of(address);
	const struct sockaddr_in6 *v6 = v6_of(address);

	if (v4)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return v6 && (IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) || is_mapped_loopback(&v6->sin6_addr));
}

bool socket_address_wildcard(const union socket_address *address)
{
	const struct sockaddr_in *v4 = v4_of(address);
	const struct sockaddr_in6 *v6 = v6_of(address);

	if (v4)
		return v4->sin_addr.s_addr == INADDR_ANY;
	return v6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

uint16_t socket_address_port(const union socket_address *address)
{
	const struct sockaddr_in *v4 = v4_of(address);
	const struct sockaddr_in6 *v6 = v6_of(address);

	return ntohs(v4 ? v4->sin_port : v6 ? v6->sin6_port : 0);
}

void socket_address_text(const union socket_address *address, char ret[SOCKET_TEXT])
{
	const struct sockaddr_in *v4 = v4_of(address);
	const struct sockaddr_in6 *v6 = v6_of(address);
	char text[INET6_ADDRSTRLEN] = "";

	if (v6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, sizeof(text));
		snprintf(ret, SOCKET_TEXT, "%s:%u", text, ntohs(v6->sin6_port));
	} else if (v4) {
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(ret, SOCKET_TEXT, "%s:%u", text, ntohs(v4->sin_port));
	} else if (v6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(ret, SOCKET_TEXT, "[%s]:%u", text, ntohs(v6->sin6_port));
	} else {
		snprintf(ret, SOCKET_TEXT, "a local socket");
	}
}

struct err *socket_place_loopback(const struct socket_place *place, bool *ret)
{
	auto_addrinfo struct addrinfo *found = NULL;
	struct err *err = socket_place_find(place, false, &found);
	bool all = true;

	if (err)
		return err;
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		const union socket_address address = address_of(at);

		all = all && socket_address_loopback(&address);
	}
	*ret = all;
	return NULL;
}

static void set_port(union socket_address *address, uint16_t port)
{
	if (address->any.sa_family == AF_INET6)
		address->v6.sin6_port = htons(port);
	else
		address->v4.sin_port = htons(port);
}

/* Returns the socket, or -1 with errno. */
static int listen_at(const struct addrinfo *at, uint16_t port)
{
	auto_close int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union socket_address address = address_of(at);
	int on = 1, ret;

	set_port(&address, port);
	// Connections of a server that ended a moment ago would otherwise keep the port.
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &address.any, at->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return -1;
	ret = fd;
	fd = -1;
	return ret;
}

static int listen_in_range(const struct addrinfo *at, uint16_t first, uint16_t last)
{
	for (unsigned int port = first;; port++) {
		int fd = listen_at(at, (uint16_t)port);

		if (fd >= 0 || errno != EADDRINUSE || port >= last)
			return fd;
	}
}

struct err *socket_place_listen(const struct socket_place *place, uint16_t last_port, int *socket,
				uint16_t *port)
{
	auto_addrinfo struct addrinfo *found = NULL;
	struct err *err = socket_place_find(place, true, &found);
	union socket_address bound = {0};
	socklen_t size = sizeof(bound);
	auto_close int fd = -1;
	int failure = 0;

	if (err)
		return err;
	// "localhost" may stand for ::1 on a machine that has no IPv6.
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
		fd = listen_in_range(at, place->port, last_port);
		failure = errno;
		if (fd < 0 && failure != EADDRNOTAVAIL && failure != EAFNOSUPPORT)
			break;
	}
	if (fd < 0 && last_port > place->port)
		return err_create_errno(failure, "cannot listen at %s, ports %u to %u", place->host,
					place->port, last_port);
	if (fd < 0)
		return err_create_errno(failure, "cannot listen at %s, port %u", place->host,
					place->port);
	if (getsockname(fd, &bound.any, &size) < 0)
		return err_create_errno(errno, "cannot tell the address of a socket");
	*port = socket_address_port(&bound);
	*socket = fd;
	fd = -1;
	return NULL;
}
