/* Sends a profile to a store, over HTTP, by libcurl. */
#ifndef MALLOW_PUSH_PUSH_H
#define MALLOW_PUSH_PUSH_H

#include "push/push_body.h"

#define PUSH_TIMEOUT_MS 5000

/* How it went. */
enum push_result {
	PUSH_TAKEN,
	PUSH_LATER,   /* the store is not there, or too busy: it may take it another time */
	PUSH_REFUSED, /* it does not want this profile */
};

/* Checks whether anything can be sent. To be called before push_send(), by one thread. */
struct err *push_prepare(void);

/*
 * Reads lines "Name: value", which go with each request. *ret: those lines, ended by NULL, in one
 * block that the caller frees.
 */
struct err *push_headers_read(const char *path, char ***ret);

/*
 * Posts a profile. headers: ended by NULL; NULL: none. Takes PUSH_TIMEOUT_MS at most. *why: in
 * memory, gets what the store says if it does not take it. An error: no memory, or the profile is
 * damaged.
 */
struct err *push_send(const struct push_target *target, const struct push_profile *profile,
		      char *const *headers, enum push_result *ret, struct buf *why);

#endif
