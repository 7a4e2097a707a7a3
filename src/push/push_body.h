/* What stores take: a profile of pprof, in the message that each of them wants. */
#ifndef MALLOW_PUSH_PUSH_BODY_H
#define MALLOW_PUSH_PUSH_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "push/push_target.h"

/* What tells a profile from those of other services, versions and hosts. */
struct push_label {
	char *name, *value;
};

struct push_profile {
	/* The message perftools.profiles.Profile, not compressed. Numbers in it are positions. */
	const void *pprof;
	size_t size;
	const struct push_label *labels; /* one of them is service */
	size_t label_count;
};

/* Appends the body of a request. */
struct err *push_body_put(struct buf *buf, enum push_store store,
			  const struct push_profile *profile);

/* Makes a number that no other profile has. */
void push_id(uint8_t ret[16]);

/* Its Content-Type. */
const char *push_body_type(enum push_store store);

#endif
