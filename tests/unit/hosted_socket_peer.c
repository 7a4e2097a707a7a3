/* Whose program is at the other end: by a query of the kernel, and by its lists. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hosted/net/socket_peer.h"
#include "hosted/net/socket_place.h"

static const struct socket_trust own;

static bool is_trusted(int fd)
{
	struct err *err = socket_peer_refuse(fd, &own);
	bool trusted = !err;

	err_destroy(err);
	return trusted;
}

/* Connects to the host's listening socket, as a client of `family` does. */
static int connect_as(int family, const char *host, uint16_t port)
{
	struct socket_place place = {.port = port};
	struct addrinfo *found;
	int fd = socket(family, SOCK_STREAM, 0);

	strcpy(place.host, host);
	assert_ok(socket_place_find(&place, false, &found));
	assert_int_equal(connect(fd, found->ai_addr, found->ai_addrlen), 0);
	freeaddrinfo(found);
	return fd;
}

/* A connection from its beginning to its end, looked at from both sides. */
static void look(const char *server_host, int family, const char *client_host)
{
	struct socket_place place = {.port = 0};
	int listening, client, accepted;
	uint16_t port;

	strcpy(place.host, server_host);
	assert_ok(socket_place_listen(&place, 0, &listening, &port));
	client = connect_as(family, client_host, port);
	// Nobody has accepted: the kernel lists the other side's socket as root's.
	assert_false(is_trusted(client));
	accepted = accept(listening, NULL, NULL);
	assert_true(is_trusted(client));
	assert_true(is_trusted(accepted));
	// The same of a socket that is closed, although what it has sent is still to be read.
	assert_int_equal(write(client, "x", 1), 1);
	close(client);
	assert_false(is_trusted(accepted));
	close(accepted);
	close(listening);
}

static void look_at_all(void)
{
	int pair[2];

	look("127.0.0.1", AF_INET, "127.0.0.1");
	look("::1", AF_INET6, "::1");
	look("::ffff:127.0.0.1", AF_INET, "127.0.0.1");
	look("::ffff:127.0.0.1", AF_INET6, "::ffff:127.0.0.1");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_true(is_trusted(pair[0]));
	close(pair[0]);
	close(pair[1]);
}

static void test_by_a_query(void **state)
{
	look_at_all();
}

/* socket(AF_NETLINK) fails from now on, as in a sandbox. */
static void forbid_queries(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
	assert_int_equal(socket(AF_NETLINK, SOCK_DGRAM, 0), -1);
}

/* The last of all: the filter stays. */
static void test_by_the_lists(void **state)
{
	forbid_queries();
	look_at_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_a_query),
		cmocka_unit_test(test_by_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
