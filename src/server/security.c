#include "server/security.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COOKIE "mallow_token="

/* Takes the port and the brackets off a host. false: it is malformed, or too long for any host. */
static bool split(const char *host, char name[256])
{
	bool bracket = *host == '[';
	size_t length = bracket ? strcspn(host, "]") : strcspn(host, ":");
	const char *port = host + length + (bracket && host[length]);

	if (bracket) {
		host++;
		length--;
	}
	if (!length || length >= 256 || (bracket && host[length] != ']'))
		return false;
	if (*port && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	memcpy(name, host, length);
	name[length] = 0;
	return true;
}

static bool is_address(const char *name)
{
	struct in6_addr address;

	return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

bool security_host(const struct security *security, const char *host)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "::1"};
	char name[256];

	if (!host || !split(host, name))
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcasecmp(name, own[i]) == 0)
			return true;
	return strcasecmp(name, security->interface) == 0 ||
	       (security->wildcard && is_address(name));
}

/* Compares in a time that does not tell how much of the token was right. */
static bool equal(const char *token, const char *given, size_t length)
{
	size_t size = strlen(token);
	unsigned char differ = length != size;

	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)(i < length ? given[i] : 0);
	return !differ;
}

bool security_token(const struct security *security, const char *authorization, const char *cookie)
{
	if (!security->token)
		return true;
	if (authorization && strncasecmp(authorization, "Bearer ", 7) == 0) {
		const char *given = authorization + 7 + strspn(authorization + 7, " ");

		return equal(security->token, given, strlen(given));
	}
	while (cookie && *cookie) {
		size_t length;

		cookie += strspn(cookie, "; ");
		length = strcspn(cookie, ";");
		if (strncmp(cookie, COOKIE, strlen(COOKIE)) == 0)
			return equal(security->token, cookie + strlen(COOKIE),
				     length - strlen(COOKIE));
		cookie += length;
	}
	return false;
}

bool security_origin(const struct security *security, const char *origin)
{
	const char *at = security->origins;
	size_t length = origin ? strlen(origin) : 0;

	while (at && *at && length) {
		size_t here = strcspn(at, ",");

		if (here == length && memcmp(at, origin, length) == 0)
			return true;
		at += here + (at[here] == ',');
	}
	return false;
}
