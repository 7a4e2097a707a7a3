/* What link.c and link_tls.c share. */
#ifndef MALLOW_STREAM_LINK_LINK_INSIDE_H
#define MALLOW_STREAM_LINK_LINK_INSIDE_H

#include <gnutls/gnutls.h>
#include <stdatomic.h>

#include "stream/link/link.h"

struct link {
	int fd;
	bool dialled;       /* link_connect() made it */
	atomic_bool broken; /* link_break() was called */
	char peer[SOCKET_TEXT];
	/* The first bytes that came, which tell whether the other side speaks TLS. */
	uint8_t first[2];
	size_t first_size;
	/* TLS. session: NULL: there is none. */
	gnutls_session_t session;
	gnutls_psk_client_credentials_t client_secret;
	gnutls_psk_server_credentials_t server_secret;
	const struct link_key *key; /* during the handshake */
	int failure;                /* the last errno of the socket */
	/* buffer[begin … end) was read ahead: content, not TLS. */
	size_t begin, end;
	bool ended; /* the other side's end was read ahead */
	uint8_t buffer[64 << 10];
};

/* Remembers the first bytes. */
void link_note_first(struct link *link, const void *data, size_t size);

/*
 * Waits for events of poll() until `end` (now_ns()). *late: that time has come, and there is no
 * error then.
 */
struct err *link_await(struct link *link, short events, uint64_t end, bool *late);

/* link_tls.c: the TLS of a link, by GnuTLS: docs/streaming.md, "The protocol". */

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
