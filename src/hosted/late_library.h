/*
 * Shared libraries that few commands need: they are opened when they are first used. If the tool
 * were linked with them, each of its starts would load them, and the libraries that they need.
 * GnuTLS and libmicrohttpd with their eight took 3.7 of the 6.3 ms of CPU of a start.
 *
 * A room that needs one has a list of the functions (stream/link/gnutls_library.def), a struct with
 * a pointer to each, and calls gnutls.init() instead of gnutls_init().
 */
#ifndef MALLOW_HOSTED_LATE_LIBRARY_H
#define MALLOW_HOSTED_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"

struct late_library {
	const char *file;         /* its soname */
	const char *const *names; /* what is needed of it … */
	size_t count;
	void *table; /* … and where the addresses of that go, an array of pointers */
	bool is_open;
};

/* Opens the library, unless it is open. It is never closed. Any thread. */
struct err *late_library_open(struct late_library *library);

#endif
