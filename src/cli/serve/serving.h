/* Serving recordings until the user has enough: what `mallow serve` and `mallow run --open` share.
 */
#ifndef MALLOW_CLI_SERVE_SERVING_H
#define MALLOW_CLI_SERVE_SERVING_H

#include <stdbool.h>

#include "server/http/http.h"

struct serving {
	struct http_options http;
	bool any_port;      /* if the port is taken, any free one will do */
	bool open;          /* opens a browser, too */
	const char *moment; /* the page shows what was live then, as typed; NULL: the whole run */
};

/*
 * Serves the catalog until SIGINT or SIGTERM, which stay blocked no longer than that: a second one
 * ends the process. Prints where it listens. Returns an exit status; what failed was printed.
 */
int serving_run(const struct serving *serving, struct catalog *catalog);

/* How many bytes a server may take unless the user says otherwise: a quarter of the machine's. */
uint64_t serving_memory(void);

#define SERVING_INTERFACE "127.0.0.1"
#define SERVING_PORT      8080
#define SERVING_TIMEOUT_S 30u
#define SERVING_MAX_OPEN  64u

#endif
