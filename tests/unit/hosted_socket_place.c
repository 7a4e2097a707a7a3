/* Places in a network as users write them, and listening there. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hosted/net/socket_place.h"

#define STANDARD 4711

static void parse(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} good[] = {
		{"localhost", "localhost", STANDARD},
		{"build-7.example.org:80", "build-7.example.org", 80},
		{"10.0.0.7", "10.0.0.7", STANDARD},
		{"10.0.0.7:65535", "10.0.0.7", 65535},
		{"0.0.0.0:0", "0.0.0.0", 0},
		{"::1", "::1", STANDARD},
		{"::", "::", STANDARD},
		{"fe80::1%eth0", "fe80::1%eth0", STANDARD},
		{"2001:db8::2:8100", "2001:db8::2:8100", STANDARD},
		{"[::1]", "::1", STANDARD},
		{"[::1]:8100", "::1", 8100},
		{"[fe80::1%eth0]:00080", "fe80::1%eth0", 80},
	};
	static const char *const bad[] = {
		"",           ":",           ":80",      "host:",
		"host:x",     "host:65536",  "host:-1",  "host:+1",
		"host: 80",   "host:080080", "a b",      "a/b",
		"http://a",   "a:b:c",       "[::1",     "[::1]80",
		"[::1]:",     "[]:80",       "[]",       "[host]:80",
		"[10.0.0.7]", "::1]",        "fe80::1%", "10.0.0.7:80:90",
		"[::1]:80:9", "host\n",      "::1:x",    "user@host",
		"[[::1]]:80",
	};
	struct socket_place place;
	char lengthy[SOCKET_PLACE_HOST + 8];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_ok(socket_place_parse(good[i].text, STANDARD, &place));
		assert_string_equal(place.host, good[i].host);
		assert_int_equal(place.port, good[i].port);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err *err = socket_place_parse(bad[i], STANDARD, &place);

		if (!err)
			fail_msg("'%s' is taken for a place", bad[i]);
		assert_non_null(strstr(err_message(err), bad[i]));
		err_destroy(err);
	}
	memset(lengthy, 'a', sizeof(lengthy));
	lengthy[SOCKET_PLACE_HOST] = '\0';
	assert_err(socket_place_parse(lengthy, 0, &place), "too long");
	lengthy[SOCKET_PLACE_HOST - 1] = '\0';
	assert_ok(socket_place_parse(lengthy, 0, &place));
	assert_int_equal(place.port, 0);
}

static bool loopback(const char *host)
{
	struct socket_place place;
	bool ret = false;

	assert_ok(socket_place_parse(host, STANDARD, &place));
	assert_ok(socket_place_loopback(&place, &ret));
	return ret;
}

static void loopback_is_this_machine_alone(void **state)
{
	const struct socket_place unknown = {.host = "256.256.256.256"};
	bool ret;

	assert_true(loopback("127.0.0.1"));
	assert_true(loopback("127.255.0.9:80"));
	assert_true(loopback("[::1]"));
	assert_true(loopback("::ffff:127.0.0.1"));
	assert_true(loopback("localhost"));
	assert_false(loopback("0.0.0.0"));
	assert_false(loopback("::"));
	assert_false(loopback("128.0.0.1"));
	assert_false(loopback("10.0.0.7"));
	assert_false(loopback("::2"));
	assert_false(loopback("::ffff:10.0.0.7"));
	assert_err(socket_place_loopback(&unknown, &ret), "no host '256.256.256.256': ");
}

static void text_of_addresses(void **state)
{
	union socket_address address = {.v4 = {.sin_family = AF_INET, .sin_port = htons(80)}};
	char text[SOCKET_TEXT];

	assert_true(socket_address_wildcard(&address));
	inet_pton(AF_INET, "10.0.0.7", &address.v4.sin_addr);
	socket_address_text(&address, text);
	assert_string_equal(text, "10.0.0.7:80");
	assert_false(socket_address_wildcard(&address));
	address = (union socket_address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(81)}};
	assert_true(socket_address_wildcard(&address));
	inet_pton(AF_INET6, "2001:db8::7", &address.v6.sin6_addr);
	socket_address_text(&address, text);
	assert_string_equal(text, "[2001:db8::7]:81");
	assert_int_equal(socket_address_port(&address), 81);
	inet_pton(AF_INET6, "::ffff:10.0.0.7", &address.v6.sin6_addr);
	socket_address_text(&address, text);
	assert_string_equal(text, "10.0.0.7:81");
	address = (union socket_address){.any = {.sa_family = AF_UNIX}};
	socket_address_text(&address, text);
	assert_string_equal(text, "a local socket");
	assert_int_equal(socket_address_port(&address), 0);
	assert_false(socket_address_loopback(&address) || socket_address_wildcard(&address));
}

/*
 * The first free port of a range is taken; when there is none, the error names the range. Which
 * ports are free is the machine's: so the range is long, and what others have does not matter.
 */
static void listen_in_a_range(void **state)
{
	struct socket_place place = {.host = "127.0.0.1"};
	int first = -1, second = -1, none = -1;
	uint16_t port, next, unused = 0;
	char text[64];

	assert_ok(socket_place_listen(&place, 0, &first, &port));
	assert_true(port > 0);
	place.port = port < UINT16_MAX - 100 ? port : (uint16_t)(port - 100);
	assert_ok(socket_place_listen(&place, (uint16_t)(place.port + 100), &second, &next));
	assert_true(next != port && next >= place.port && next <= place.port + 100);
	place.port = port;
	snprintf(text, sizeof(text), "cannot listen at 127.0.0.1, port %u: ", port);
	assert_err(socket_place_listen(&place, 0, &none, &unused), text);
	if (next == port + 1) {
		snprintf(text, sizeof(text), "127.0.0.1, ports %u to %u: ", port, next);
		assert_err(socket_place_listen(&place, next, &none, &unused), text);
	}
	assert_int_equal(none, -1);
	assert_int_equal(unused, 0);
	close(first);
	close(second);
}

static void listen_where_it_cannot_be(void **state)
{
	const struct socket_place unknown = {.host = "256.256.256.256"};
	const struct socket_place far = {.host = "192.0.2.1", .port = 0}; // RFC 5737
	int fd;
	uint16_t port;

	assert_err(socket_place_listen(&unknown, 0, &fd, &port), "no interface '256.256.256.256'");
	assert_err(socket_place_listen(&far, 0, &fd, &port), "cannot listen at 192.0.2.1, port 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test(loopback_is_this_machine_alone),
		cmocka_unit_test(text_of_addresses),
		cmocka_unit_test(listen_in_a_range),
		cmocka_unit_test(listen_where_it_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
