#include "agent/helper/watcher.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"

/* Sends one datagram. It waits in the socket even if this process is killed right after. */
static long send_descriptor(int socket, const struct sockaddr_un *address, int fd, char kind,
			    int flags)
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
	struct iovec byte = {.iov_base = &kind, .iov_len = 1};
	struct msghdr message = {
		.msg_name = (void *)address,
		.msg_namelen = sizeof(*address),
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return syscall_raw(SYS_sendmsg, socket, (long)&message, flags | MSG_NOSIGNAL, 0, 0, 0);
}

long watcher_tell(int fd, enum live_message message, bool patient)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = config.registry ? strlen(config.registry) : 0;
	long socket, sent;

	if (!length || length >= sizeof(address.sun_path))
		return -ENOENT;
	memcpy(address.sun_path, config.registry, length);
	socket = syscall_raw(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0, 0);
	if (socket < 0)
		return socket;
	sent = send_descriptor((int)socket, &address, fd, (char)message,
			       patient ? 0 : MSG_DONTWAIT);
	syscall_raw(SYS_close, socket, 0, 0, 0, 0, 0);
	return sent < 0 ? sent : 0;
}
