/*
 * Decides who is served. The server runs on the machine of somebody who also has a browser open,
 * and a recording tells much about a program:
 *
 * - A page of another site must not read it. Browsers prevent that, unless the site makes its own
 *   name point to 127.0.0.1 (DNS rebinding). So a request for another host name is refused.
 * - Pages of other sites may not even ask: a request costs work, and could be timed.
 * - Another machine, or another user, needs the token.
 */
#ifndef MALLOW_SERVER_HTTP_SECURITY_H
#define MALLOW_SERVER_HTTP_SECURITY_H

#include <stdbool.h>
#include <stddef.h>

struct security {
	const char *interface; /* as given; an address or a name */
	bool wildcard;         /* it is every interface */
	const char *token;     /* NULL: no token is asked for */
	const char *origins;   /* whose scripts may read, separated by commas; NULL: none */
};

/*
 * Whether the header Host (NULL: none) names this server, with or without a port: localhost,
 * 127.0.0.1, [::1], or the interface. If it serves every interface, any address is right: a name
 * can be made to point here, an address cannot.
 */
bool security_host(const struct security *security, const char *host);

/* Whether it is a host, with a port or without. NULL: it is not. */
bool security_is_host(const char *host);

/* Compares in a time that does not tell how much of the secret was right. */
bool security_equal(const char *secret, const char *given, size_t length);

/* Whether a header (NULL: none) has the token. true if no token is asked for. */
bool security_token(const struct security *security, const char *authorization);

/* Whether scripts from that origin may read answers. */
bool security_origin(const struct security *security, const char *origin);

/*
 * Whether a browser asks for somebody who may. The strings are the headers Origin, Sec-Fetch-Site
 * and Sec-Fetch-Mode (NULL: none, as of clients that are no browsers); host: a right one, as
 * asked for. page: a file of the page is asked for, which holds no data: a link of another site may
 * lead there.
 */
bool security_site(const struct security *security, const char *host, const char *origin,
		   const char *site, const char *mode, bool page);

#endif
