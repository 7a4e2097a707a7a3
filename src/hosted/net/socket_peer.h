/* The user whose program is at the other end of a connection: docs/security.md. */
#ifndef MALLOW_HOSTED_NET_SOCKET_PEER_H
#define MALLOW_HOSTED_NET_SOCKET_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "hosted/err.h"

/* The users that are trusted without a token. Zeroed: this process's user and root. */
struct socket_trust {
	bool all;      /* --insecure: everybody, on other machines, too */
	bool has_user; /* --allow-user: … */
	uid_t user;    /* … this user, too */
};

/*
 * How many characters a token has at least where other machines can guess at it. Who has seen a
 * connection of streams can do so as fast as a machine can.
 */
#define SOCKET_TOKEN_LEAST 16

/*
 * Returns NULL if the other end of a connected socket, of IP or a local one, belongs to somebody
 * who is trusted. The error names nobody and no address: put them in front (err_prefix()).
 *
 * The side that accepted a connection calls it at once. The side that connected calls it before it
 * sends a byte, and again if it is refused, until the first bytes of the other side are there:
 * before the other side accepts, its socket is nobody's.
 *
 * A socket belongs to the user who made it. One that this machine's kernel does not list as an
 * established connection of some process and user is a stranger's: that of another machine or
 * network namespace, one that is closed, or one of a user who has no number here.
 */
struct err *socket_peer_refuse(int fd, const struct socket_trust *trust);

/*
 * Opens what socket_peer_refuse() asks the kernel with, for as long as the process lives; otherwise
 * it does so itself. To be called where descriptors may become scarce. Any thread.
 */
void socket_peer_prepare(void);

#endif
