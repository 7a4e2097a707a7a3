#include "stream/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "stream/link/link_inside.h"

/* What is received in pieces of this size goes to its place directly, not through the buffer. */
#define DIRECT_LEAST (16u << 10)
/* How long link_close() waits for the other side while that still sends. */
#define LINGER_MS    300

CLEANUP_DEFINE(struct link *, link_close);

static uint64_t end_after(int timeout_ms)
{
	return now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;
}

static int left_ms(uint64_t end)
{
	const uint64_t now = now_ns();

	return now < end ? (int)((end - now + 999999) / 1000000) : 0;
}

void link_note_first(struct link *link, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (link->first_size < sizeof(link->first) && size--)
		link->first[link->first_size++] = *at++;
}

static struct err *check_broken(const struct link *link)
{
	return atomic_load(&link->broken) ? err_create("%s: the connection was ended", link->peer)
					  : NULL;
}

struct err *link_await(struct link *link, short events, uint64_t end, bool *late)
{
	struct pollfd at = {.fd = link->fd, .events = events};
	int found;

	do
		found = poll(&at, 1, left_ms(end));
	while (found < 0 && errno == EINTR);
	if (found < 0)
		return err_create_errno(errno, "%s", link->peer);
	*late = !found;
	return check_broken(link);
}

/* One attempt, as link_tls_send(). */
static ssize_t send_once(struct link *link, const void *data, size_t size, struct err **err)
{
	ssize_t sent;

	if (link->session)
		return link_tls_send(link, data, size, err);
	sent = send(link->fd, data, size, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		*err = err_create_errno(errno, "%s", link->peer);
	return sent;
}

struct err *link_send(struct link *link, const void *data, size_t size, int timeout_ms)
{
	struct err *err = check_broken(link);
	const uint8_t *at = data;

	while (!err && size) {
		const ssize_t sent = send_once(link, at, size, &err);
		bool late = false;

		if (sent >= 0) {
			at += sent;
			size -= (size_t)sent;
			continue;
		}
		if (!err)
			err = link_await(link, link->session ? link_tls_events(link) : POLLOUT,
					 end_after(timeout_ms), &late);
		if (!err && late)
			err = err_create("%s took nothing for %d ms", link->peer, timeout_ms);
	}
	return err;
}

/* TLS where none is expected: the beginning of a handshake, or an alert about ours. */
static struct err *check_plain(const struct link *link)
{
	if (link->first_size == sizeof(link->first) && link->first[1] == 3 &&
	    (link->first[0] == 0x16 || link->first[0] == 0x15))
		return err_create("%s wants a token, and none was given here", link->peer);
	return NULL;
}

/* One attempt, as link_tls_receive(). */
static ssize_t receive_once(struct link *link, void *data, size_t size, struct err **err)
{
	ssize_t got;

	if (link->session)
		return link_tls_receive(link, data, size, err);
	got = recv(link->fd, data, size, 0);
	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR)
			*err = err_create_errno(errno, "%s", link->peer);
		return -1;
	}
	link_note_first(link, data, (size_t)got);
	*err = check_plain(link);
	return *err ? -1 : got;
}

/*
 * Receives something. end: the last moment; 0: timeout_ms after what came last. *got: 0: the other
 * side's end; -1: it is late.
 */
static struct err *receive_some(struct link *link, void *data, size_t size, int timeout_ms,
				uint64_t end, ssize_t *got)
{
	struct err *err = check_broken(link);
	bool late = false;

	*got = -1;
	while (!err && !late) {
		*got = receive_once(link, data, size, &err);
		// link_break() looks like the other side's end.
		if (*got == 0)
			return check_broken(link);
		if (*got > 0 || err)
			return err;
		err = link_await(link, link->session ? link_tls_events(link) : POLLIN,
				 end ? end : end_after(timeout_ms), &late);
	}
	return err;
}

/* Receives something into the buffer, which is empty, or sees the other side's end. */
static struct err *fill_buffer(struct link *link, int timeout_ms, uint64_t end, bool *late)
{
	ssize_t got = 0;
	struct err *err;

	err = receive_some(link, link->buffer, sizeof(link->buffer), timeout_ms, end, &got);
	if (err)
		return err;
	*late = got < 0;
	link->ended = got == 0;
	link->begin = 0;
	link->end = got > 0 ? (size_t)got : 0;
	return NULL;
}

/* Takes up to size bytes out of the buffer. */
static size_t take_buffered(struct link *link, void *data, size_t size)
{
	const size_t there = link->end - link->begin;
	const size_t taken = there < size ? there : size;

	memcpy(data, link->buffer + link->begin, taken);
	link->begin += taken;
	return taken;
}

/* Receives up to size bytes. *got: 0: the other side's end. */
static struct err *receive_part(struct link *link, void *data, size_t size, int timeout_ms,
				size_t *got)
{
	struct err *err = NULL;
	bool late = false;

	if (link->begin == link->end && !link->ended && size >= DIRECT_LEAST) {
		ssize_t direct = 0;

		err = receive_some(link, data, size, timeout_ms, 0, &direct);
		late = direct < 0;
		link->ended = direct == 0;
		*got = direct > 0 ? (size_t)direct : 0;
	} else {
		if (link->begin == link->end && !link->ended)
			err = fill_buffer(link, timeout_ms, 0, &late);
		if (!err && !late)
			*got = take_buffered(link, data, size);
	}
	if (!err && late)
		err = err_create("%s sent nothing for %d ms", link->peer, timeout_ms);
	return err;
}

struct err *link_receive(struct link *link, void *data, size_t size, int timeout_ms, bool *closed)
{
	struct err *err = check_broken(link);
	size_t done = 0, got = 0;

	while (!err && done < size) {
		err = receive_part(link, (uint8_t *)data + done, size - done, timeout_ms, &got);
		if (!err && !got && !done && closed) {
			*closed = true;
			return NULL;
		}
		if (!err && !got)
			err = err_create("%s closed the connection%s", link->peer,
					 done ? " in the middle of a message" : "");
		done += got;
	}
	if (!err && closed)
		*closed = false;
	return err;
}

struct err *link_wait(struct link *link, int timeout_ms, bool *ret)
{
	struct err *err = check_broken(link);
	bool late = false;

	// A packet of TLS need not hold content: only reading it tells.
	if (!err && link->begin == link->end && !link->ended)
		err = fill_buffer(link, timeout_ms, end_after(timeout_ms), &late);
	if (!err)
		*ret = !late;
	return err;
}

void link_break(struct link *link)
{
	atomic_store(&link->broken, true);
	// Who waits in poll() is woken by that.
	shutdown(link->fd, SHUT_RDWR);
}

bool link_dialled(const struct link *link)
{
	return link->dialled;
}

struct err *link_refuse(const struct link *link, const struct socket_trust *trust)
{
	return link->session ? NULL
			     : err_prefix(socket_peer_refuse(link->fd, trust), "%s", link->peer);
}

const char *link_peer(const struct link *link)
{
	return link->peer;
}

/*
 * A socket that is closed with bytes unread resets the connection, and then the other side may
 * never see what was sent last: why the connection ends.
 */
static void await_end(struct link *link)
{
	const uint64_t end = end_after(LINGER_MS);
	bool late = false;
	ssize_t got = recv(link->fd, link->buffer, 1, MSG_PEEK);

	shutdown(link->fd, SHUT_WR);
	while (got > 0 && !late && now_ns() < end) {
		auto_err struct err *err = link_await(link, POLLIN, end, &late);

		got = err ? 0 : recv(link->fd, link->buffer, sizeof(link->buffer), MSG_TRUNC);
	}
}

void link_close(struct link *link)
{
	if (!link)
		return;
	if (!atomic_load(&link->broken)) {
		link_tls_end(link);
		await_end(link);
	}
	link_tls_deinit(link);
	close(link->fd);
	free(link);
}

/* Makes a link of a connected socket, which it owns, also on failure. */
static struct err *create_link(int fd, bool client, struct link **ret)
{
	cleanup(link_close_at) struct link *link = calloc(1, sizeof(*link));
	union socket_address peer = {0};
	socklen_t size = sizeof(peer);
	const int on = 1;

	if (!link) {
		close(fd);
		return err_no_memory();
	}
	link->fd = fd;
	link->dialled = client;
	if (getpeername(fd, &peer.any, &size) < 0)
		return err_create_errno(errno, "a connection ended at once");
	socket_address_text(&peer, link->peer);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_create_errno(errno, "%s", link->peer);
	// Messages are sent whole. The kernel's keepalive stays off: the protocol has its pings.
	// (A socket of another family knows no such thing.)
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*ret = steal(&link);
	return NULL;
}

struct err *link_accept(int socket, struct link **ret)
{
	return create_link(socket, false, ret);
}

struct err *link_prove(struct link *link, const struct link_key *key, int timeout_ms)
{
	return key->set ? link_tls_begin(link, key, false, end_after(timeout_ms)) : NULL;
}

/*
 * Whether a socket is connected with itself. That happens to who connects again and again to a port
 * of this machine where nobody listens: the kernel may choose that port for this end, too.
 */
static bool is_own_peer(int fd)
{
	union socket_address own = {0}, peer = {0};
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
	char own_text[SOCKET_TEXT], peer_text[SOCKET_TEXT];

	if (getsockname(fd, &own.any, &own_size) < 0 || getpeername(fd, &peer.any, &peer_size) < 0)
		return false;
	socket_address_text(&own, own_text);
	socket_address_text(&peer, peer_text);
	return strcmp(own_text, peer_text) == 0;
}

/* Returns a socket, or -1 with errno. */
static int connect_at(const struct addrinfo *to, uint64_t end)
{
	auto_close int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd at = {.fd = fd, .events = POLLOUT};
	int ret, found, failure = 0;
	socklen_t size = sizeof(failure);

	if (fd < 0 || (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS))
		return -1;
	do
		found = poll(&at, 1, left_ms(end));
	while (found < 0 && errno == EINTR);
	if (found > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
		failure = errno;
	if (found > 0 && !failure && is_own_peer(fd))
		failure = ECONNREFUSED;
	if (found <= 0 || failure) {
		errno = !found ? ETIMEDOUT : found < 0 ? errno : failure;
		return -1;
	}
	ret = fd;
	fd = -1;
	return ret;
}

struct err *link_connect(const struct socket_place *place, const struct link_key *key,
			 int timeout_ms, struct link **ret)
{
	const uint64_t end = end_after(timeout_ms);
	cleanup(link_close_at) struct link *link = NULL;
	auto_addrinfo struct addrinfo *found = NULL;
	struct err *err = socket_place_find(place, false, &found);
	unsigned int count = 0;
	int fd = -1;

	if (err)
		return err;
	for (const struct addrinfo *at = found; at; at = at->ai_next)
		count++;
	// An address that does not answer leaves a share of the time to those after it.
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next, count--)
		fd = connect_at(at, end_after(left_ms(end) / (int)count));
	if (fd < 0)
		return err_create_errno(errno, "cannot connect to %s, port %u", place->host,
					place->port);
	err = create_link(fd, true, &link);
	if (!err && key->set)
		err = link_tls_begin(link, key, true, end);
	if (!err)
		*ret = steal(&link);
	return err;
}
