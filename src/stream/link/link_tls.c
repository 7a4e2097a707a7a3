#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "stream/link/gnutls_library.h"
#include "stream/link/link_inside.h"

/*
 * TLS 1.3 and nothing else; the pre-shared key with an ephemeral one, so that who learns the token
 * later cannot read what was sent before. AES-128-GCM is several times as fast as GnuTLS's default.
 * (AES-256-GCM is no choice: it wants SHA-384, and the key is for SHA-256.)
 */
#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:-CIPHER-ALL:+AES-128-GCM"
#define IDENTITY "mallow"

/* The types of TLS records, from change_cipher_spec to application_data. */
#define RECORD_FIRST 0x14
#define RECORD_LAST  0x17

LATE_LIBRARY_OPEN(gnutls, GNUTLS_FUNCTIONS, "libgnutls.so.30")

static bool speaks_tls(const struct link *link)
{
	return (link->first_size < 1 ||
		(link->first[0] >= RECORD_FIRST && link->first[0] <= RECORD_LAST)) &&
	       (link->first_size < 2 || link->first[1] == 3);
}

static ssize_t pull_bytes(gnutls_transport_ptr_t argument, void *data, size_t size)
{
	struct link *link = argument;
	ssize_t got = recv(link->fd, data, size, 0);

	if (got > 0)
		link_note_first(link, data, (size_t)got);
	// GnuTLS would take a plain greeting for the head of a long record, and wait for its rest.
	if (got > 0 && !speaks_tls(link)) {
		errno = EPROTO;
		got = -1;
	}
	if (got < 0) {
		link->failure = errno;
		gnutls.transport_set_errno(link->session, errno);
	}
	return got;
}

static ssize_t push_bytes(gnutls_transport_ptr_t argument, const void *data, size_t size)
{
	struct link *link = argument;
	ssize_t sent = send(link->fd, data, size, MSG_NOSIGNAL);

	if (sent < 0) {
		link->failure = errno;
		gnutls.transport_set_errno(link->session, errno);
	}
	return sent;
}

/* Gives GnuTLS the key of a client that says who it is. */
static int find_key(gnutls_session_t session, const char *name, gnutls_datum_t *ret)
{
	const struct link *link = gnutls.session_get_ptr(session);

	if (!link->key || strcmp(name, IDENTITY) != 0)
		return -1;
	ret->data = (*gnutls.malloc)(LINK_KEY_SIZE);
	if (!ret->data)
		return -1;
	memcpy(ret->data, link->key->bytes, LINK_KEY_SIZE);
	ret->size = LINK_KEY_SIZE;
	return 0;
}

static int set_client_secret(struct link *link)
{
	const gnutls_datum_t key = {(unsigned char *)link->key->bytes, LINK_KEY_SIZE};
	int status = gnutls.psk_allocate_client_credentials(&link->client_secret);

	if (status >= 0)
		status = gnutls.psk_set_client_credentials(link->client_secret, IDENTITY, &key,
							   GNUTLS_PSK_KEY_RAW);
	if (status >= 0)
		status = gnutls.credentials_set(link->session, GNUTLS_CRD_PSK, link->client_secret);
	return status;
}

static int set_server_secret(struct link *link)
{
	int status = gnutls.psk_allocate_server_credentials(&link->server_secret);

	if (status < 0)
		return status;
	gnutls.psk_set_server_credentials_function(link->server_secret, find_key);
	return gnutls.credentials_set(link->session, GNUTLS_CRD_PSK, link->server_secret);
}

/* Returns a code of GnuTLS. */
static int prepare_session(struct link *link, bool client)
{
	// Tickets are for resuming a session: a new connection proves the key anew.
	const unsigned int flags = GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS;
	int status = gnutls.init(&link->session, flags | (client ? GNUTLS_CLIENT : GNUTLS_SERVER));

	if (status < 0) {
		link->session = NULL;
		return status;
	}
	gnutls.session_set_ptr(link->session, link);
	gnutls.transport_set_ptr(link->session, link);
	gnutls.transport_set_pull_function(link->session, pull_bytes);
	gnutls.transport_set_push_function(link->session, push_bytes);
	status = gnutls.priority_set_direct(link->session, PRIORITY, NULL);
	if (status < 0)
		return status;
	return client ? set_client_secret(link) : set_server_secret(link);
}

static struct err *tls_failed(const struct link *link, int status)
{
	if (status == GNUTLS_E_MEMORY_ERROR)
		return err_no_memory();
	if (status == GNUTLS_E_PULL_ERROR || status == GNUTLS_E_PUSH_ERROR)
		return err_create_errno(link->failure, "%s", link->peer);
	return err_create("%s: TLS: %s", link->peer, gnutls.strerror(status));
}

/* Whether the other side's alert says that it knows another key. */
static bool refuses_key(gnutls_session_t session)
{
	switch (gnutls.alert_get(session)) {
	case GNUTLS_A_ILLEGAL_PARAMETER:
	case GNUTLS_A_DECRYPT_ERROR:
	case GNUTLS_A_BAD_RECORD_MAC:
	case GNUTLS_A_UNKNOWN_PSK_IDENTITY:
		return true;
	default:
		return false;
	}
}

static struct err *handshake_failed(const struct link *link, int status)
{
	if (!speaks_tls(link))
		return err_create("%s speaks no TLS: it has no token, and one was given here",
				  link->peer);
	if (status == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER || status == GNUTLS_E_DECRYPTION_FAILED ||
	    (status == GNUTLS_E_FATAL_ALERT_RECEIVED && refuses_key(link->session)))
		return err_create("%s: the tokens differ", link->peer);
	if (status == GNUTLS_E_PREMATURE_TERMINATION)
		return err_create("%s closed the connection before it proved that it knows the "
				  "token",
				  link->peer);
	return tls_failed(link, status);
}

struct err *link_tls_begin(struct link *link, const struct link_key *key, bool client, uint64_t end)
{
	struct err *err = gnutls_library_open();
	bool late = false;
	int status;

	if (err)
		return err;
	link->key = key;
	status = prepare_session(link, client);
	if (status < 0)
		return tls_failed(link, status);
	while ((status = gnutls.handshake(link->session)) < 0) {
		if (gnutls.error_is_fatal(status)) {
			// Without it the other side could not tell why the connection ends.
			gnutls.alert_send_appropriate(link->session, status);
			return handshake_failed(link, status);
		}
		err = link_await(link, link_tls_events(link), end, &late);
		if (err)
			return err;
		if (late)
			return err_create("%s did not prove in time that it knows the token",
					  link->peer);
	}
	link->key = NULL;
	if (gnutls.auth_get_type(link->session) != GNUTLS_CRD_PSK)
		return err_create("%s did not prove that it knows the token", link->peer);
	return NULL;
}

ssize_t link_tls_send(struct link *link, const void *data, size_t size, struct err **err)
{
	ssize_t sent = gnutls.record_send(link->session, data, size);

	if (sent >= 0)
		return sent;
	if (gnutls.error_is_fatal((int)sent))
		*err = tls_failed(link, (int)sent);
	return -1;
}

ssize_t link_tls_receive(struct link *link, void *data, size_t size, struct err **err)
{
	ssize_t got = gnutls.record_recv(link->session, data, size);

	// A killed process ends its connections like this. The protocol has an end of its own, so
	// who cuts a connection makes nobody believe that all was sent.
	if (got == GNUTLS_E_PREMATURE_TERMINATION)
		return 0;
	if (got >= 0)
		return got;
	if (gnutls.error_is_fatal((int)got))
		*err = tls_failed(link, (int)got);
	return -1;
}

short link_tls_events(const struct link *link)
{
	return gnutls.record_get_direction(link->session) ? POLLOUT : POLLIN;
}

void link_tls_end(struct link *link)
{
	// In the middle of a handshake there is nothing to end.
	if (link->session && !link->key)
		gnutls.bye(link->session, GNUTLS_SHUT_WR);
}

void link_tls_deinit(struct link *link)
{
	if (link->session)
		gnutls.deinit(link->session);
	if (link->client_secret)
		gnutls.psk_free_client_credentials(link->client_secret);
	if (link->server_secret)
		gnutls.psk_free_server_credentials(link->server_secret);
}
