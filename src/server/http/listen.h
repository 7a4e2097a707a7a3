/* The socket that clients connect to. */
#ifndef MALLOW_SERVER_HTTP_LISTEN_H
#define MALLOW_SERVER_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

#define LISTEN_ADDRESS_MAX 104

struct listening {
	int fd;
	bool loopback;                    /* only this machine can connect */
	bool wildcard;                    /* it listens on every interface */
	char address[LISTEN_ADDRESS_MAX]; /* "http://127.0.0.1:8080" */
};

/* interface: an address or a host name. port 0: any free port. The caller closes ret->fd. */
struct err *listen_on(const char *interface, uint16_t port, struct listening *ret);

#endif
