/*
 * How a sender tells its network that it waits for receivers: docs/streaming.md, "Discovery".
 * Datagrams of IPv4. Whoever is in the network can send one, so a beacon is a hint and no proof.
 */
#ifndef MALLOW_STREAM_DISCOVERY_BEACON_H
#define MALLOW_STREAM_DISCOVERY_BEACON_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "stream/link/message.h"

#define BEACON_SIZE 64u
#define BEACON_NAME 32u

struct beacon_content {
	uint16_t port;                       /* of TCP, where the sender listens; not 0 */
	uint32_t pid;                        /* of the program */
	uint8_t number[MESSAGE_NUMBER_SIZE]; /* the sender's, as in its greeting */
	char name[BEACON_NAME + 1];          /* the program's */
};

struct beacon;

/* For sending. */
struct err *beacon_open(struct beacon **ret);
/* Accepts NULL. */
void beacon_close(struct beacon *beacon);
/*
 * Sends one beacon to the broadcast address of each interface that is up now, and of the loopback
 * interface. Does not block. A network that takes none, or has no broadcasts, is skipped silently.
 */
void beacon_send(struct beacon *beacon, const struct beacon_content *content);

/*
 * For receiving: *socket gets the beacons that come to this port (MESSAGE_BEACON_PORT, but for
 * tests). Several processes may do that on one machine, and each gets all of them. The socket does
 * not block, is close-on-exec, and the caller's.
 */
struct err *beacon_listen(uint16_t port, int *socket);
/*
 * Takes a beacon that has arrived; call it when poll() says so. address: who sent it, without a
 * port. false: none is there. Other datagrams are skipped.
 *
 * A sender on this machine, or with several interfaces, is heard from several addresses. Its number
 * tells that it is one.
 */
bool beacon_receive(int socket, struct beacon_content *ret, char address[INET_ADDRSTRLEN]);

/* Writes a beacon's BEACON_SIZE bytes. */
void beacon_write(const struct beacon_content *content, uint8_t ret[BEACON_SIZE]);
/*
 * Reads a datagram. Anybody may have sent it, so what could move a terminal's cursor in the name is
 * replaced by '?', and the name is valid UTF-8. false: it is no beacon, or of another version.
 */
bool beacon_read(const uint8_t *data, size_t size, struct beacon_content *ret);

#endif
