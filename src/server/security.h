/*
 * Who is served. The server runs on the machine of somebody who also has a browser open, and a
 * recording tells much about a program:
 *
 * - A page of another site must not read it. Browsers see to that, unless the site has its own name
 *   point to 127.0.0.1 for a moment; so a request for another host than this one is refused.
 * - Another machine, or another user through another interface, needs the token.
 */
#ifndef MALLOW_SERVER_SECURITY_H
#define MALLOW_SERVER_SECURITY_H

#include <stdbool.h>

struct security {
	const char *interface; /* as given; an address or a name */
	bool wildcard;         /* it stands for every interface */
	const char *token;     /* NULL: none is asked for */
	const char *origins;   /* that scripts may come from, by commas; NULL: none */
};

/*
 * Whether Host (NULL: there was none) names this server, with or without a port: localhost,
 * 127.0.0.1, [::1], the interface. Where it serves every interface any address will do: a name can
 * be pointed elsewhere, an address cannot.
 */
bool security_host(const struct security *security, const char *host);

/* Whether the headers (NULL: there was none) hold the token, if one is asked for. */
bool security_token(const struct security *security, const char *authorization, const char *cookie);

/* Whether scripts of that origin may read the answer. */
bool security_origin(const struct security *security, const char *origin);

#endif
