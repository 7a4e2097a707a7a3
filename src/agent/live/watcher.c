#include "agent/live/watcher.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/config.h"
#include "agent/libc.h"
#include "agent/syscall.h"

/* One datagram, which waits in the socket even if this process is killed right now. */
static void send_descriptor(int socket, const struct sockaddr_un *address, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {
		.header =
			{
				.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
			},
	};
	struct iovec byte = {.iov_base = (void *)"", .iov_len = 1};
	struct msghdr message = {
		.msg_name = (void *)address,
		.msg_namelen = sizeof(*address),
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sys_sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void watcher_tell(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = config.registry ? strlen(config.registry) : 0;
	int socket;

	if (!length || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, config.registry, length);
	socket = sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC);
	if (socket < 0)
		return;
	send_descriptor(socket, &address, fd);
	sys_close(socket);
}
