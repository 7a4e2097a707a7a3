#include "hosted/net/socket_peer.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hosted/net/socket_place.h"

#define OVERFLOW_UID 65534 /* what the kernel says of a user who has no number here */

/* How the kernel is asked. Kept, so that who has no descriptors left can still look. */
static struct {
	pthread_mutex_t mutex;
	int fd; /* -1: not open */
	uint32_t asked;
} kernel = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* One end of a connection of TCP. IPv4 is written as IPv6 has it: ::ffff:127.0.0.1. */
struct end {
	struct in6_addr address;
	uint16_t port; /* in network order, as the addresses */
};

static bool end_of(const union socket_address *address, struct end *ret)
{
	*ret = (struct end){.port = address->v6.sin6_port, .address = address->v6.sin6_addr};
	if (address->any.sa_family == AF_INET) {
		ret->address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(&ret->address.s6_addr[12], &address->v4.sin_addr, 4);
		ret->port = address->v4.sin_port;
	}
	return address->any.sa_family == AF_INET || address->any.sa_family == AF_INET6;
}

/* Puts an address where a query has it. mapped: as one of IPv4. */
static void put_address(const struct end *end, bool mapped, __be32 ret[4])
{
	memcpy(ret, &end->address.s6_addr[mapped ? 12 : 0], mapped ? 4 : 16);
}

static bool open_locked(void)
{
	if (kernel.fd < 0)
		kernel.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return kernel.fd >= 0;
}

void socket_peer_prepare(void)
{
	pthread_mutex_lock(&kernel.mutex);
	open_locked();
	pthread_mutex_unlock(&kernel.mutex);
}

/* Sends a query and takes its answer, which the kernel has written when send() returns. */
static bool exchange(struct nlmsghdr *query, struct nlmsghdr *answer, size_t room, size_t least)
{
	ssize_t got = -1;

	pthread_mutex_lock(&kernel.mutex);
	query->nlmsg_seq = ++kernel.asked;
	if (open_locked() &&
	    send(kernel.fd, query, query->nlmsg_len, 0) == (ssize_t)query->nlmsg_len)
		do
			got = recv(kernel.fd, answer, room, MSG_DONTWAIT);
		while (got >= (ssize_t)sizeof(*answer) && answer->nlmsg_seq != query->nlmsg_seq);
	pthread_mutex_unlock(&kernel.mutex);
	return got >= (ssize_t)least;
}

/* Asks the kernel for the one socket that is bound to `own` and connected to `other`. */
static bool ask_kernel(const struct end *own, const struct end *other, uid_t *ret)
{
	const bool mapped = IN6_IS_ADDR_V4MAPPED(&own->address);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 asked;
	} query = {
		.head = {.nlmsg_len = sizeof(query),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.asked = {.sdiag_family = mapped ? AF_INET : AF_INET6,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = 1u << TCP_ESTABLISHED,
			  .id = {.idiag_sport = own->port,
				 .idiag_dport = other->port,
				 .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg found;
		char rest[2048];
	} answer = {0};
	const struct inet_diag_msg *found = &answer.found;

	put_address(own, mapped, query.asked.id.idiag_src);
	put_address(other, mapped, query.asked.id.idiag_dst);
	if (!exchange(&query.head, &answer.head, sizeof(answer),
		      sizeof(answer.head) + sizeof(*found)))
		return false;
	// Where no connection is found the kernel answers with a socket that listens there.
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    found->idiag_state != TCP_ESTABLISHED || !found->idiag_inode ||
	    found->id.idiag_sport != own->port || found->id.idiag_dport != other->port)
		return false;
	*ret = found->idiag_uid;
	return true;
}

/* An end as the list of the kernel writes it: words of the machine, in hexadecimal. */
static void write_end(const struct end *end, bool mapped, char ret[48])
{
	__be32 words[4] = {0};
	size_t at = 0;

	put_address(end, mapped, words);
	for (size_t i = 0; i < (mapped ? 1 : 4); i++)
		at += (size_t)snprintf(ret + at, 48 - at, "%08" PRIX32, words[i]);
	snprintf(ret + at, 48 - at, ":%04X", ntohs(end->port));
}

/* The same out of a list of all sockets, where a kernel or a sandbox answers no queries. */
static bool search_list(const char *path, const struct end *own, const struct end *other,
			bool mapped, uid_t *ret)
{
	FILE *file = fopen(path, "re");
	char line[512], from[48], to[48], ends[128];
	unsigned int state, uid;
	unsigned long inode;
	bool found = false;

	write_end(own, mapped, from);
	write_end(other, mapped, to);
	snprintf(ends, sizeof(ends), ": %s %s ", from, to);
	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, ends);

		found = at &&
			sscanf(at + strlen(ends), "%x %*s %*s %*s %u %*s %lu", &state, &uid,
			       &inode) == 3 &&
			state == TCP_ESTABLISHED && inode;
	}
	if (file)
		fclose(file);
	if (found)
		*ret = uid;
	return found;
}

static bool find_tcp(int fd, uid_t *ret)
{
	union socket_address address = {0}, peer_address = {0};
	socklen_t size = sizeof(address), peer_size = sizeof(peer_address);
	struct end here, there;

	if (getsockname(fd, &address.any, &size) < 0 ||
	    getpeername(fd, &peer_address.any, &peer_size) < 0 || !end_of(&address, &here) ||
	    !end_of(&peer_address, &there))
		return false;
	// The other end has the same addresses the other way round.
	return ask_kernel(&there, &here, ret) ||
	       (IN6_IS_ADDR_V4MAPPED(&there.address) &&
		search_list("/proc/net/tcp", &there, &here, true, ret)) ||
	       search_list("/proc/net/tcp6", &there, &here, false, ret);
}

static bool find_user(int fd, uid_t *ret)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	int family = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &(socklen_t){sizeof(family)}) < 0)
		return false;
	if (family != AF_UNIX)
		return find_tcp(fd, ret);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return false;
	*ret = credentials.uid;
	return true;
}

/* Whether all users have numbers here: then 65534 is a user, mostly "nobody". */
static bool maps_all_users(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned long inside = 1, outside = 1, count = 0;
	bool all = file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3 && !inside &&
		   count == UINT32_MAX;

	if (file)
		fclose(file);
	return all;
}

struct err *socket_peer_refuse(int fd, const struct socket_trust *trust)
{
	uid_t uid;

	if (trust->all)
		return NULL;
	if (!find_user(fd, &uid) || (uid == OVERFLOW_UID && !maps_all_users()))
		return err_create("nobody on this machine is known to be there, so a token is "
				  "needed (--token-file)");
	// Who is root can read everything of everybody without us.
	if (uid == geteuid() || uid == 0 || (trust->has_user && uid == trust->user))
		return NULL;
	return err_create("it belongs to another user (uid %u), so a token is needed "
			  "(--token-file)",
			  (unsigned int)uid);
}
