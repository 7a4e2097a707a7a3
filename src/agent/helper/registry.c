#include "agent/helper/registry.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"

int registry_descriptor;

/* What MALLOW_REGISTRY says. The strings are in its text. */
struct address {
	const char *key;
	int descriptor;
	uint64_t inode;
	const char *name;
};

static bool parse_address(struct address *ret)
{
	const char *text = config.registry;

	if (!text || strlen(text) <= REGISTRY_KEY_SIZE || text[REGISTRY_KEY_SIZE] != ':')
		return false;
	ret->key = text;
	ret->descriptor = (int)text_parse(text + REGISTRY_KEY_SIZE + 1, &text);
	if (*text != ':')
		return false;
	ret->inode = text_parse(text + 1, &text);
	ret->name = text + 1;
	return *text == ':';
}

static bool is_socket(int fd, uint64_t inode)
{
	struct kernel_stat status = {0};

	return fd > 0 && syscall_raw(CALL_FSTAT, fd, (long)&status, 0, 0, 0, 0) == 0 &&
	       S_ISSOCK(status.st_mode) && status.st_ino == inode;
}

void registry_init(void)
{
	struct address address;

	registry_descriptor =
		parse_address(&address) && is_socket(address.descriptor, address.inode)
			? address.descriptor
			: 0;
}

bool registry_is(int fd)
{
	struct address address;

	if (fd <= 0 || fd != registry_descriptor)
		return false;
	return process_system_calls_forbidden() ||
	       (parse_address(&address) && is_socket(fd, address.inode));
}

void registry_pass_on(void)
{
	if (!process_system_calls_forbidden() && registry_is(registry_descriptor))
		syscall_raw(CALL_FCNTL, registry_descriptor, F_SETFD, 0, 0, 0, 0);
}

/* Sends one datagram. It waits in the socket even if this process is killed right after. */
static long send_to(int socket, const struct sockaddr_un *to, size_t to_size, int fd,
		    const struct iovec parts[2], bool patient)
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
	struct msghdr message = {
		.msg_name = (void *)to,
		.msg_namelen = (unsigned int)to_size,
		.msg_iov = (struct iovec *)parts,
		.msg_iovlen = 2,
		.msg_control = fd >= 0 ? &control : NULL,
		.msg_controllen = fd >= 0 ? sizeof(control) : 0,
	};
	long sent;

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sent = syscall_raw(SYS_sendmsg, socket, (long)&message,
			   (patient ? 0 : MSG_DONTWAIT) | MSG_NOSIGNAL, 0, 0, 0);
	return sent < 0 ? sent : 0;
}

/* Sends to the address: the descriptor was not inherited, or does not lead there any more. */
static long send_by_name(const struct address *address, int fd, const struct iovec parts[2],
			 bool patient)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = strlen(address->name);
	long socket, result;

	if (!length || length >= sizeof(to.sun_path))
		return -ENOENT;
	memcpy(to.sun_path + 1, address->name, length);
	socket = syscall_raw(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0, 0, 0);
	if (socket < 0)
		return socket;
	result = send_to((int)socket, &to, offsetof(struct sockaddr_un, sun_path) + 1 + length, fd,
			 parts, patient);
	syscall_raw(SYS_close, socket, 0, 0, 0, 0, 0);
	return result;
}

bool registry_is_full(long error)
{
	return error == -EAGAIN || error == -ENOBUFS || error == -ETOOMANYREFS;
}

long registry_tell(int fd, enum registry_kind kind, const char *text, bool patient)
{
	struct registry_message message = {.kind = (char)kind};
	size_t length = strlen(text);
	const struct iovec parts[2] = {
		{&message, sizeof(message)},
		{(void *)text, length < REGISTRY_TEXT_MOST ? length : REGISTRY_TEXT_MOST},
	};
	struct address address;
	long first = -ENOENT, second;

	if (!parse_address(&address))
		return -ENOENT;
	memcpy(message.key, address.key, sizeof(message.key));
	if (is_socket(address.descriptor, address.inode))
		first = send_to(address.descriptor, NULL, 0, fd, parts, patient);
	if (!first)
		return 0;
	second = send_by_name(&address, fd, parts, patient);
	return second && registry_is_full(first) ? first : second;
}
