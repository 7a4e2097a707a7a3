#include "server/http/security.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

/* Takes the port and the brackets off a host. false: it is malformed, or too long for any host. */
static bool split_host(const char *host, char name[256])
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

bool security_is_host(const char *host)
{
	char name[256];

	return host && split_host(host, name);
}

bool security_host(const struct security *security, const char *host)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "::1"};
	char name[256];

	if (!host || !split_host(host, name))
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(own); i++)
		if (strcasecmp(name, own[i]) == 0)
			return true;
	return strcasecmp(name, security->interface) == 0 ||
	       (security->wildcard && is_address(name));
}

bool security_equal(const char *secret, const char *given, size_t length)
{
	size_t size = strlen(secret);
	unsigned char differ = length != size;

	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)secret[i] ^ (unsigned char)(i < length ? given[i] : 0);
	return !differ;
}

bool security_token(const struct security *security, const char *authorization)
{
	const char *given;

	if (!security->token)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	given = authorization + 7 + strspn(authorization + 7, " ");
	return security_equal(security->token, given, strlen(given));
}

bool security_origin(const struct security *security, const char *origin)
{
	const char *at = security->origins;
	// "null" is the origin of every page that hides its own.
	size_t length = origin && strcmp(origin, "null") != 0 ? strlen(origin) : 0;

	while (at && *at && length) {
		size_t here = strcspn(at, ",");

		if (here == length && memcmp(at, origin, length) == 0)
			return true;
		at += here + (at[here] == ',');
	}
	return false;
}

/* Whether an origin is the host that was asked: a proxy may speak TLS for us. */
static bool is_own(const char *origin, const char *host)
{
	size_t scheme = strncmp(origin, "http://", 7) == 0    ? 7
			: strncmp(origin, "https://", 8) == 0 ? 8
							      : 0;

	return scheme && strcasecmp(origin + scheme, host) == 0;
}

bool security_site(const struct security *security, const char *host, const char *origin,
		   const char *site, const char *mode, bool page)
{
	if (origin)
		return is_own(origin, host) || security_origin(security, origin);
	if (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
		return true;
	return page && mode && strcmp(mode, "navigate") == 0;
}
