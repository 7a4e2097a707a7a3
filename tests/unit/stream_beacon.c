/* Beacons: their bytes, and that all who wait on one machine get them. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "stream/discovery/beacon.h"

#define WAIT_MS 60000 /* a beacon is there at once; a machine may be slow */

static struct beacon_content content = {
	.port = 8100,
	.pid = 4711,
	.name = "a name of exactly 32 characters.",
};

static void bytes_of_a_beacon(void **state)
{
	uint8_t bytes[BEACON_SIZE + 1] = {0};
	struct beacon_content read = {0};

	beacon_write(&content, bytes);
	assert_memory_equal(bytes, "\x89MLB\r\n\x1a\n\x01\x00\xa4\x1f\x67\x12\x00\x00", 16);
	assert_memory_equal(bytes + 16, content.number, sizeof(content.number));
	assert_memory_equal(bytes + 32, content.name, BEACON_NAME);
	assert_true(beacon_read(bytes, BEACON_SIZE, &read));
	assert_memory_equal(&read, &content, sizeof(read));
	// Neither shorter nor longer ones, nor other bytes.
	for (size_t size = 0; size < BEACON_SIZE; size++)
		assert_false(beacon_read(bytes, size, &read));
	assert_false(beacon_read(bytes, BEACON_SIZE + 1, &read));
	for (size_t i = 0; i < 10; i++) {
		bytes[i] ^= 2;
		assert_false(beacon_read(bytes, BEACON_SIZE, &read));
		bytes[i] ^= 2;
	}
	memset(bytes + 10, 0, 2);
	assert_false(beacon_read(bytes, BEACON_SIZE, &read)); // no port
}

/* Who is in the network chooses the name; it goes to a terminal. */
static void names_are_cleaned(void **state)
{
	static const struct {
		const char *sent, *read;
	} names[] = {
		{"", ""},
		{"r\xc3\xa4ume", "r\xc3\xa4ume"},
		{"\x1b[2J\r\n\x7f", "?[2J???"},
		{"\xc2\x9b"
		 "2J",
		 "?2J"},
		{"\xc2\xa0", "\xc2\xa0"},
		{"cut \xe2\x82", "cut ?"},
		{"\xff\xc0\xaf", "???"},
	};
	struct beacon_content sent = content, read;
	uint8_t bytes[BEACON_SIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(sent.name, 0, sizeof(sent.name));
		strcpy(sent.name, names[i].sent);
		beacon_write(&sent, bytes);
		assert_true(beacon_read(bytes, sizeof(bytes), &read));
		assert_string_equal(read.name, names[i].read);
	}
}

/*
 * Waits for the beacon with our number: others may announce themselves on this machine. It comes
 * through each interface, so from several addresses; this one is of all machines.
 */
static void expect_from_loopback(int socket)
{
	struct pollfd at = {.fd = socket, .events = POLLIN};
	char address[INET_ADDRSTRLEN] = "";
	struct beacon_content read;

	do {
		assert_int_equal(poll(&at, 1, WAIT_MS), 1);
	} while (!beacon_receive(socket, &read, address) || strcmp(address, "127.0.0.1") != 0 ||
		 memcmp(read.number, content.number, sizeof(read.number)) != 0);
	assert_memory_equal(&read, &content, sizeof(read));
}

static void all_receivers_of_a_machine_get_it(void **state)
{
	struct beacon *beacon = NULL;
	int sockets[3];

	for (size_t i = 0; i < 3; i++)
		assert_ok(beacon_listen(MESSAGE_BEACON_PORT, &sockets[i]));
	assert_ok(beacon_open(&beacon));
	for (int round = 0; round < 2; round++) {
		beacon_send(beacon, &content);
		for (size_t i = 0; i < 3; i++)
			expect_from_loopback(sockets[i]);
	}
	beacon_close(beacon);
	beacon_close(NULL);
	for (size_t i = 0; i < 3; i++)
		close(sockets[i]);
}

/* What is no beacon is skipped, and the one after it is found. */
static void other_datagrams_are_skipped(void **state)
{
	struct sockaddr_in at;
	socklen_t size = sizeof(at);
	int receiver, sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char address[INET_ADDRSTRLEN];
	uint8_t bytes[BEACON_SIZE + 1] = {0};
	struct beacon_content read;

	assert_ok(beacon_listen(0, &receiver));
	assert_false(beacon_receive(receiver, &read, address));
	assert_int_equal(getsockname(receiver, (struct sockaddr *)&at, &size), 0);
	inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
	assert_int_equal(connect(sender, (struct sockaddr *)&at, size), 0);
	beacon_write(&content, bytes);
	assert_int_equal(send(sender, "", 0, 0), 0);
	assert_int_equal(send(sender, "hello", 5, 0), 5);
	assert_int_equal(send(sender, bytes, BEACON_SIZE + 1, 0), BEACON_SIZE + 1);
	assert_int_equal(send(sender, bytes, BEACON_SIZE, 0), BEACON_SIZE);
	expect_from_loopback(receiver);
	assert_false(beacon_receive(receiver, &read, address));
	close(receiver);
	close(sender);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_a_beacon),
		cmocka_unit_test(names_are_cleaned),
		cmocka_unit_test(all_receivers_of_a_machine_get_it),
		cmocka_unit_test(other_datagrams_are_skipped),
	};

	if (getrandom(content.number, sizeof(content.number), 0) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
