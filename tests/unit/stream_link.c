/* Links: plain and through TLS, and what each side is told when they do not fit together. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "check.h"
#include "hosted/now.h"
#include "stream/link/link.h"

#define PATIENCE_MS 60000 /* what is there at once, on a slow machine */
#define SHORT_MS    30    /* what never comes */
#define GREETING    "\x89MLS\r\n\x1a\n a greeting that is as long as those of the protocol are."

static const struct link_key none;
static const struct link_key key = {.set = true, .bytes = "one key"};
static const struct link_key other = {.set = true, .bytes = "another key"};

/* The listening side, which another thread plays. */
struct server {
	int listening;
	struct socket_place place;
	const struct link_key *key;
	int timeout_ms;
	pthread_t thread;
	struct link *link;
	struct err *err;
};

static void *serve(void *argument)
{
	struct server *server = argument;
	int fd = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC);

	server->err = link_accept(fd, &server->link);
	if (!server->err)
		server->err = link_prove(server->link, server->key, server->timeout_ms);
	if (server->err) {
		link_close(server->link);
		server->link = NULL;
	}
	return NULL;
}

static void start_as(struct server *server, const struct link_key *server_key, int timeout_ms,
		     void *(*as)(void *))
{
	*server = (struct server){.key = server_key, .timeout_ms = timeout_ms};
	strcpy(server->place.host, "127.0.0.1");
	assert_ok(socket_place_listen(&server->place, 0, &server->listening, &server->place.port));
	assert_int_equal(pthread_create(&server->thread, NULL, as, server), 0);
}

static void start(struct server *server, const struct link_key *server_key, int timeout_ms)
{
	start_as(server, server_key, timeout_ms, serve);
}

/* Returns how link_accept() and link_prove() ended. */
static struct err *stop(struct server *server)
{
	pthread_join(server->thread, NULL);
	close(server->listening);
	return server->err;
}

/* Two links that are connected with each other. */
static void make_pair(const struct link_key *both, struct link **client, struct link **server)
{
	struct server at;

	start(&at, both, PATIENCE_MS);
	assert_ok(link_connect(&at.place, both, PATIENCE_MS, client));
	assert_ok(stop(&at));
	*server = at.link;
}

static void expect_closed(struct link *link)
{
	bool closed = false, ready = false;
	char byte;

	assert_ok(link_wait(link, PATIENCE_MS, &ready));
	assert_true(ready);
	assert_ok(link_receive(link, &byte, 1, PATIENCE_MS, &closed));
	assert_true(closed);
	assert_err(link_receive(link, &byte, 1, PATIENCE_MS, NULL), "closed the connection");
}

static void talk(const struct link_key *both)
{
	struct link *client = NULL, *server = NULL;
	char got[32] = "";
	bool ready = true, closed = true;

	make_pair(both, &client, &server);
	assert_memory_equal(link_peer(client), "127.0.0.1:", 10);
	assert_memory_equal(link_peer(server), "127.0.0.1:", 10);
	assert_string_not_equal(link_peer(client), link_peer(server));
	assert_ok(link_wait(server, 0, &ready));
	assert_false(ready);
	// In other pieces than it was sent.
	assert_ok(link_send(client, "head", 4, PATIENCE_MS));
	assert_ok(link_send(client, "content, and more", 17, PATIENCE_MS));
	assert_ok(link_receive(server, got, 2, PATIENCE_MS, &closed));
	assert_false(closed);
	assert_ok(link_wait(server, 0, &ready));
	assert_true(ready); // what was read ahead
	assert_ok(link_receive(server, got + 2, 19, PATIENCE_MS, NULL));
	assert_string_equal(got, "headcontent, and more");
	assert_ok(link_wait(server, 0, &ready));
	assert_false(ready);
	assert_ok(link_receive(server, got, 0, 0, &closed));
	assert_ok(link_send(server, "answer", 6, PATIENCE_MS));
	assert_ok(link_wait(client, PATIENCE_MS, &ready));
	assert_true(ready);
	assert_ok(link_receive(client, got, 6, PATIENCE_MS, NULL));
	assert_memory_equal(got, "answer", 6);
	link_close(client);
	expect_closed(server);
	link_close(server);
	link_close(NULL);
}

static void both_without_a_key(void **state)
{
	talk(&none);
}

static void both_with_the_key(void **state)
{
	talk(&key);
}

static void keys_that_differ(void **state)
{
	struct link *link = NULL;
	struct server server;

	start(&server, &key, PATIENCE_MS);
	assert_err(link_connect(&server.place, &other, PATIENCE_MS, &link), "the tokens differ");
	assert_err(stop(&server), "the tokens differ");
	assert_null(link);
	assert_null(server.link);
}

/* Greets, and tells what the other side answers. */
static struct err *greet(struct link *link)
{
	char got[64];
	struct err *err = link_send(link, GREETING, sizeof(got), PATIENCE_MS);

	return err ? err : link_receive(link, got, sizeof(got), PATIENCE_MS, NULL);
}

static void *greet_as_server(void *argument)
{
	struct server *server = argument;

	serve(server);
	if (!server->err)
		server->err = greet(server->link);
	link_close(server->link);
	server->link = NULL;
	return NULL;
}

/* Who has none learns it from the handshake's first bytes; who has one, from the greeting. */
static void key_against_none(void **state)
{
	struct link *link = NULL;
	struct server server;

	start_as(&server, &none, PATIENCE_MS, greet_as_server);
	assert_err(link_connect(&server.place, &key, PATIENCE_MS, &link), "has no token");
	assert_err(stop(&server), "wants a token");
	assert_null(link);
	start_as(&server, &key, PATIENCE_MS, greet_as_server);
	assert_ok(link_connect(&server.place, &none, PATIENCE_MS, &link));
	assert_err(greet(link), "wants a token");
	link_close(link);
	assert_err(stop(&server), "has no token");
}

/* Connects a socket that does what a link would not. */
static int connect_raw(const struct server *server)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(server->place.port),
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};

	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void silence(void **state)
{
	struct link *client = NULL, *server = NULL, *late = NULL;
	bool ready = true;
	struct server at;
	char byte;
	int fd;

	// In the handshake, on either side.
	start(&at, &key, SHORT_MS);
	fd = connect_raw(&at);
	assert_err(stop(&at), "did not prove in time");
	close(fd);
	at.place.port = 0;
	assert_ok(socket_place_listen(&at.place, 0, &fd, &at.place.port));
	assert_err(link_connect(&at.place, &key, SHORT_MS, &late), "did not prove in time");
	close(fd);
	for (int tls = 0; tls < 2; tls++) {
		make_pair(tls ? &key : &none, &client, &server);
		assert_ok(link_wait(client, SHORT_MS, &ready));
		assert_false(ready);
		assert_err(link_receive(client, &byte, 1, SHORT_MS, NULL),
			   "sent nothing for 30 ms");
		link_close(client);
		link_close(server);
	}
}

/* More than the kernel holds for who does not read. */
static void other_side_takes_nothing(void **state)
{
	const size_t size = (size_t)64 << 20;
	struct link *client = NULL, *server = NULL;
	uint8_t *data = calloc(1, size);

	assert_non_null(data);
	for (int tls = 0; tls < 2; tls++) {
		make_pair(tls ? &key : &none, &client, &server);
		assert_err(link_send(client, data, size, SHORT_MS), "took nothing for 30 ms");
		link_close(client);
		link_close(server);
	}
	free(data);
}

/* Nobody is there any more: an error, no signal. */
static void sent_to_nobody(void **state)
{
	static const uint8_t data[1 << 20];
	struct link *client = NULL, *server = NULL;
	struct err *err = NULL;

	for (int tls = 0; tls < 2; tls++) {
		make_pair(tls ? &key : &none, &client, &server);
		link_close(server);
		while (!err)
			err = link_send(client, data, sizeof(data), PATIENCE_MS);
		assert_non_null(strstr(err_message(err), link_peer(client)));
		err_destroy(err);
		err = NULL;
		link_close(client);
	}
}

static void end_in_the_middle(void **state)
{
	struct link *client = NULL, *server = NULL;
	bool closed = false;
	char got[12];

	for (int i = 0; i < 4; i++) {
		make_pair(i & 1 ? &key : &none, &client, &server);
		assert_ok(link_send(client, "half", 4, PATIENCE_MS));
		// A process that is killed says no farewell.
		if (i & 2)
			link_break(client);
		link_close(client);
		assert_err(link_receive(server, got, sizeof(got), PATIENCE_MS, &closed),
			   "closed the connection in the middle");
		expect_closed(server);
		link_close(server);
	}
}

/* A killed side's end is no error where a message might begin. */
static void end_without_farewell(void **state)
{
	struct link *client = NULL, *server = NULL;

	make_pair(&key, &client, &server);
	link_break(client);
	link_close(client);
	expect_closed(server);
	link_close(server);
}

static void *close_link(void *argument)
{
	link_close(argument);
	return NULL;
}

/* It closes at once, with much unread: what it said last arrives all the same. */
static void last_words(void **state)
{
	static const uint8_t much[200000];
	struct link *client = NULL, *server = NULL;
	pthread_t closer;
	char got[4];

	for (int tls = 0; tls < 2; tls++) {
		make_pair(tls ? &key : &none, &client, &server);
		assert_ok(link_send(client, much, sizeof(much), PATIENCE_MS));
		assert_ok(link_send(server, "why!", 4, PATIENCE_MS));
		assert_int_equal(pthread_create(&closer, NULL, close_link, server), 0);
		assert_ok(link_receive(client, got, 4, PATIENCE_MS, NULL));
		assert_memory_equal(got, "why!", 4);
		expect_closed(client);
		link_close(client);
		pthread_join(closer, NULL);
	}
}

struct trickle {
	int fd;
	size_t sent;
};

/* A handshake that never ends, byte by byte. */
static void *trickle(void *argument)
{
	static const uint8_t head[] = {0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3};
	struct trickle *at = argument;
	const struct timespec pause = {.tv_nsec = SHORT_MS * 1000000 / 10};

	for (;; at->sent++) {
		const uint8_t byte = at->sent < sizeof(head) ? head[at->sent] : 0;

		if (send(at->fd, &byte, 1, MSG_NOSIGNAL) < 0)
			return NULL;
		nanosleep(&pause, NULL);
	}
}

static void handshake_that_trickles(void **state)
{
	const uint64_t begin = now_ns();
	struct trickle at = {0};
	struct server server;
	pthread_t thread;

	start(&server, &key, 3 * SHORT_MS);
	at.fd = connect_raw(&server);
	assert_int_equal(pthread_create(&thread, NULL, trickle, &at), 0);
	assert_err(stop(&server), "did not prove in time");
	assert_true(now_ns() - begin >= UINT64_C(3000000) * SHORT_MS);
	pthread_join(thread, NULL);
	close(at.fd);
}

#define LARGE ((size_t)50 << 20)

struct stream {
	struct link *link;
	struct err *err;
};

/* Sends pseudorandom bytes in pieces of many sizes. */
static void *send_much(void *argument)
{
	struct stream *at = argument;
	uint64_t numbers = 1, sizes = 2;
	uint8_t *data = malloc(1 << 20);

	for (size_t sent = 0, size; !at->err && sent < LARGE; sent += size) {
		size = (random_next(&sizes) >> 10) % (random_next(&sizes) & 1 ? 64 : 1 << 20);
		size = (size + 8) & ~(size_t)7;
		size = size < LARGE - sent ? size : LARGE - sent;
		for (size_t i = 0; i < size; i += 8) {
			const uint64_t number = random_next(&numbers);

			memcpy(data + i, &number, 8);
		}
		at->err = link_send(at->link, data, size, PATIENCE_MS);
	}
	free(data);
	return NULL;
}

static void expect_much(struct link *link)
{
	uint64_t numbers = 1, sizes = 3;
	uint8_t *data = malloc(1 << 20);

	for (size_t got = 0, size; got < LARGE; got += size) {
		size = (random_next(&sizes) >> 10) % (random_next(&sizes) & 1 ? 64 : 1 << 20);
		size = (size + 8) & ~(size_t)7;
		size = size < LARGE - got ? size : LARGE - got;
		assert_ok(link_receive(link, data, size, PATIENCE_MS, NULL));
		for (size_t i = 0; i < size; i += 8) {
			const uint64_t number = random_next(&numbers);

			if (memcmp(data + i, &number, 8) != 0)
				fail_msg("other bytes at %zu", got + i);
		}
	}
	free(data);
}

static void much_in_both_directions(void **state)
{
	struct link *ends[2] = {0};

	make_pair(&key, &ends[0], &ends[1]);
	for (int i = 0; i < 2; i++) {
		struct stream stream = {.link = ends[i]};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, send_much, &stream), 0);
		expect_much(ends[!i]);
		pthread_join(thread, NULL);
		assert_ok(stream.err);
	}
	link_close(ends[0]);
	expect_closed(ends[1]);
	link_close(ends[1]);
}

static void *break_link(void *argument)
{
	const struct timespec pause = {.tv_nsec = SHORT_MS * 1000000};

	// The other thread most likely waits by then; it must fail in either case.
	nanosleep(&pause, NULL);
	link_break(argument);
	link_break(argument);
	return NULL;
}

static void broken_by_another_thread(void **state)
{
	struct link *client = NULL, *server = NULL;
	bool ready, closed;
	pthread_t thread;
	char byte;

	for (int tls = 0; tls < 2; tls++) {
		make_pair(tls ? &key : &none, &client, &server);
		assert_ok(link_send(server, "ahead", 5, PATIENCE_MS));
		assert_ok(link_receive(client, &byte, 1, PATIENCE_MS, NULL));
		assert_int_equal(pthread_create(&thread, NULL, break_link, server), 0);
		assert_err(link_receive(server, &byte, 1, PATIENCE_MS, &closed), "was ended");
		pthread_join(thread, NULL);
		// The other end sees an end.
		assert_ok(link_receive(client, (char[4]){0}, 4, PATIENCE_MS, &closed));
		expect_closed(client);
		// Also what was read ahead is not to be had any more.
		link_break(client);
		assert_err(link_receive(client, &byte, 1, PATIENCE_MS, &closed), "was ended");
		assert_err(link_wait(client, PATIENCE_MS, &ready), "was ended");
		assert_err(link_send(client, &byte, 1, PATIENCE_MS), "was ended");
		link_close(client);
		link_close(server);
	}
}

static void nobody_listens(void **state)
{
	struct socket_place place = {.host = "127.0.0.1"};
	struct link *link = NULL;
	char text[64];
	int fd;

	assert_ok(socket_place_listen(&place, 0, &fd, &place.port));
	close(fd);
	snprintf(text, sizeof(text), "cannot connect to 127.0.0.1, port %u: Connection refused",
		 place.port);
	assert_err(link_connect(&place, &none, PATIENCE_MS, &link), text);
	strcpy(place.host, "256.256.256.256");
	assert_err(link_connect(&place, &none, PATIENCE_MS, &link), "no host '256.256.256.256'");
	assert_null(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_without_a_key),
		cmocka_unit_test(both_with_the_key),
		cmocka_unit_test(keys_that_differ),
		cmocka_unit_test(key_against_none),
		cmocka_unit_test(silence),
		cmocka_unit_test(other_side_takes_nothing),
		cmocka_unit_test(sent_to_nobody),
		cmocka_unit_test(end_in_the_middle),
		cmocka_unit_test(end_without_farewell),
		cmocka_unit_test(last_words),
		cmocka_unit_test(handshake_that_trickles),
		cmocka_unit_test(much_in_both_directions),
		cmocka_unit_test(broken_by_another_thread),
		cmocka_unit_test(nobody_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
