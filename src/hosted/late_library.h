/*
 * Shared libraries that few commands need: they are opened when they are first used. If the tool
 * were linked with them, each of its starts would load them, and the libraries that they need.
 * GnuTLS and libmicrohttpd with their eight took 3.7 of the 6.3 ms of CPU of a start.
 *
 * A room that needs one lists the functions in a header, and has the rest made:
 *
 *	#define MHD_FUNCTIONS(F) F(MHD_, start_daemon) F(MHD_, stop_daemon)
 *	LATE_LIBRARY(mhd, MHD_FUNCTIONS);                               in the header
 *	LATE_LIBRARY_OPEN(mhd, MHD_FUNCTIONS, "libmicrohttpd.so.12")    in one file
 *
 * That declares mhd_library_open(), which opens the library, unless it is open, by any thread.
 * After it mhd.start_daemon() is MHD_start_daemon().
 */
#ifndef MALLOW_HOSTED_LATE_LIBRARY_H
#define MALLOW_HOSTED_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
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

#define LATE_LIBRARY(library, functions)                                                           \
	struct library##_library {                                                                 \
		functions(LATE_LIBRARY_POINTER_)                                                   \
	};                                                                                         \
	extern struct library##_library library;                                                   \
	struct err *library##_library_open(void)

#define LATE_LIBRARY_OPEN(library, functions, soname)                                              \
	struct library##_library library;                                                          \
                                                                                                   \
	struct err *library##_library_open(void)                                                   \
	{                                                                                          \
		static const char *const names[] = {functions(LATE_LIBRARY_NAME_)};                \
		static struct late_library late = {                                                \
			.file = soname,                                                            \
			.names = names,                                                            \
			.count = ARRAY_COUNT(names),                                               \
			.table = &library,                                                         \
		};                                                                                 \
                                                                                                   \
		return late_library_open(&late);                                                   \
	}

#define LATE_LIBRARY_POINTER_(prefix, name) typeof(prefix##name) *name;
#define LATE_LIBRARY_NAME_(prefix, name)    #prefix #name,

#endif
