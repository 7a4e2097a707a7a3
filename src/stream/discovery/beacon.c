#include "stream/discovery/beacon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "stream/link/foreign_text.h"

#define VERSION        1u
/* How many datagrams one call looks at: who floods the port must not hold up the caller. */
#define DATAGRAMS_MOST 64

static const uint8_t magic[8] = {0x89, 'M', 'L', 'B', '\r', '\n', 0x1a, '\n'};

#define VERSION_AT 8
#define PORT_AT    10
#define PID_AT     12
#define NUMBER_AT  16
#define NAME_AT    32

struct beacon {
	int fd;
};

CLEANUP_DEFINE(struct ifaddrs *, freeifaddrs);

void beacon_write(const struct beacon_content *content, uint8_t ret[BEACON_SIZE])
{
	const uint16_t version = VERSION;

	memset(ret, 0, BEACON_SIZE);
	memcpy(ret, magic, sizeof(magic));
	memcpy(ret + VERSION_AT, &version, sizeof(version));
	memcpy(ret + PORT_AT, &content->port, sizeof(content->port));
	memcpy(ret + PID_AT, &content->pid, sizeof(content->pid));
	memcpy(ret + NUMBER_AT, content->number, sizeof(content->number));
	memcpy(ret + NAME_AT, content->name, strnlen(content->name, BEACON_NAME));
}

bool beacon_read(const uint8_t *data, size_t size, struct beacon_content *ret)
{
	struct beacon_content content = {0};

	if (size != BEACON_SIZE || memcmp(data, magic, sizeof(magic)) != 0 ||
	    bytes_u16(data + VERSION_AT) != VERSION || !bytes_u16(data + PORT_AT))
		return false;
	content.port = bytes_u16(data + PORT_AT);
	content.pid = bytes_u32(data + PID_AT);
	memcpy(content.number, data + NUMBER_AT, sizeof(content.number));
	foreign_text(data + NAME_AT, BEACON_NAME, '?', content.name, sizeof(content.name));
	*ret = content;
	return true;
}

struct err *beacon_open(struct beacon **ret)
{
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct beacon *beacon;
	const int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) < 0)
		return err_create_errno(errno, "cannot announce anything to the network");
	beacon = malloc(sizeof(*beacon));
	if (!beacon)
		return err_no_memory();
	beacon->fd = fd;
	fd = -1;
	*ret = beacon;
	return NULL;
}

void beacon_close(struct beacon *beacon)
{
	if (!beacon)
		return;
	close(beacon->fd);
	free(beacon);
}

static void send_to(const struct beacon *beacon, struct in_addr address,
		    const uint8_t bytes[BEACON_SIZE])
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(MESSAGE_BEACON_PORT),
		.sin_addr = address,
	};

	(void)!sendto(beacon->fd, bytes, BEACON_SIZE, MSG_NOSIGNAL, (const struct sockaddr *)&to,
		      sizeof(to));
}

static bool has_broadcast(const struct ifaddrs *at)
{
	return at->ifa_addr && at->ifa_addr->sa_family == AF_INET && at->ifa_flags & IFF_UP &&
	       at->ifa_flags & IFF_BROADCAST && at->ifa_broadaddr;
}

void beacon_send(struct beacon *beacon, const struct beacon_content *content)
{
	// The loopback interface has no broadcast address of its own, but this one goes through it.
	const struct in_addr loopback = {htonl(IN_LOOPBACKNET << 24 | 0xffffff)};
	cleanup(freeifaddrs_at) struct ifaddrs *found = NULL;
	uint8_t bytes[BEACON_SIZE];

	beacon_write(content, bytes);
	send_to(beacon, loopback, bytes);
	// Interfaces come and go while a program runs.
	if (getifaddrs(&found) < 0)
		return;
	for (const struct ifaddrs *at = found; at; at = at->ifa_next)
		if (has_broadcast(at))
			send_to(beacon, ((const struct sockaddr_in *)at->ifa_broadaddr)->sin_addr,
				bytes);
}

struct err *beacon_listen(uint16_t port, int *socket_ret)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = {htonl(INADDR_ANY)},
	};
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	// Linux gives a broadcast to all sockets of its port. SO_REUSEPORT would ask that they all
	// belong to one user.
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return err_create_errno(errno, "cannot wait for senders at UDP port %u", port);
	*socket_ret = fd;
	fd = -1;
	return NULL;
}

bool beacon_receive(int socket, struct beacon_content *ret, char address[INET_ADDRSTRLEN])
{
	for (int i = 0; i < DATAGRAMS_MOST; i++) {
		struct sockaddr_in from = {0};
		socklen_t from_size = sizeof(from);
		uint8_t bytes[BEACON_SIZE + 1]; // a longer datagram is cut there, and so is seen
		ssize_t size = recvfrom(socket, bytes, sizeof(bytes), MSG_DONTWAIT,
					(struct sockaddr *)&from, &from_size);

		if (size < 0 && errno != EINTR)
			return false;
		if (size < 0 || !beacon_read(bytes, (size_t)size, ret))
			continue;
		inet_ntop(AF_INET, &from.sin_addr, address, INET_ADDRSTRLEN);
		return true;
	}
	return false;
}
