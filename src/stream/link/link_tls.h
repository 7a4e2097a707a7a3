/* The TLS of a link, by GnuTLS: docs/streaming.md, "The protocol". */
#ifndef MALLOW_STREAM_LINK_LINK_TLS_H
#define MALLOW_STREAM_LINK_LINK_TLS_H

#include "stream/link/link_inside.h"

/* Proves the key to the other side, and has it proven. `end`: the last moment (now_ns()). */
struct err *link_tls_begin(struct link *link, const struct link_key *key, bool client,
			   uint64_t end);
/* Tells the other side that nothing follows. Does not block. Accepts a link without TLS. */
void link_tls_end(struct link *link);
/* Frees what link_tls_begin() made, also half of it. */
void link_tls_deinit(struct link *link);

/*
 * One attempt. They return how many bytes, 0 for the other side's end, -1 for a failure (*err), or
 * -1 without one: to be tried again, when link_tls_events() have come.
 */
ssize_t link_tls_send(struct link *link, const void *data, size_t size, struct err **err);
ssize_t link_tls_receive(struct link *link, void *data, size_t size, struct err **err);
short link_tls_events(const struct link *link);

#endif
