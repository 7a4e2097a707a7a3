/*
 * Variables that clean up after themselves when their scope is left:
 *
 *	auto_free char *name = strdup(text);
 *	auto_fclose FILE *file = fopen(name, "r");
 *	cleanup(buf_deinit) struct buf buf;     // any function that takes the variable's address
 *
 * Such a variable must be set before its scope can be left. steal() takes its value out, so that it
 * is not freed.
 */
#ifndef MALLOW_HOSTED_CLEANUP_H
#define MALLOW_HOSTED_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hosted/err.h"

#define cleanup(function) __attribute__((cleanup(function)))

/* Returns the pointer at address and leaves NULL there. */
#define steal(address)                                                                             \
	__extension__({                                                                            \
		__auto_type steal_from_ = (address);                                               \
		__auto_type steal_value_ = *steal_from_;                                           \
		*steal_from_ = NULL;                                                               \
		steal_value_;                                                                      \
	})

/* CLEANUP_DEFINE(struct tree *, tree_destroy) defines tree_destroy_at(), for use in cleanup(). */
#define CLEANUP_DEFINE(type, function)                                                             \
	static inline void function##_at(type *variable)                                           \
	{                                                                                          \
		if (*variable)                                                                     \
			function(*variable);                                                       \
	}                                                                                          \
	struct cleanup_semicolon_

static inline void cleanup_free_at(void *variable)
{
	free(*(void **)variable);
}

static inline void cleanup_close_at(int *variable)
{
	if (*variable >= 0)
		close(*variable);
}

CLEANUP_DEFINE(FILE *, fclose);
CLEANUP_DEFINE(struct err *, err_destroy);

#define auto_free   cleanup(cleanup_free_at)
#define auto_close  cleanup(cleanup_close_at) /* a descriptor; below 0: none */
#define auto_fclose cleanup(fclose_at)
#define auto_err    cleanup(err_destroy_at)

#endif
