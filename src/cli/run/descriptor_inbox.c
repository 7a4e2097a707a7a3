#include "cli/run/descriptor_inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hex.h"
#include "hosted/cleanup.h"

#define NAME_SIZE  16        /* hex digits of the address that nobody can guess */
#define HIGHEST    1024      /* higher numbers make the kernel grow each program's table */
#define BELOW      48        /* the agent's own descriptors are above (agent/record/file.c) */
#define ROOM       (4 << 20) /* bytes of messages that may wait */
#define FDS_MOST   253       /* SCM_MAX_FD: a hostile message has as many */
#define RUBBISH    1000      /* messages of strangers that are taken at once */
#define PATIENCE_S 5

/* Fills in `digits` random hex digits. */
static bool random_hex(char *to, size_t digits)
{
	uint8_t bytes[REGISTRY_KEY_SIZE / 2];

	if (getrandom(bytes, digits / 2, 0) != (ssize_t)(digits / 2))
		return false;
	hex_put(to, bytes, digits / 2);
	return true;
}

static socklen_t set_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length > sizeof(address->sun_path) - 1)
		length = sizeof(address->sun_path) - 1;
	memcpy(address->sun_path + 1, name, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Moves a descriptor to a number that programs do not expect to get. Takes it over. */
static int move_high(int fd)
{
	struct rlimit limit;
	int highest = HIGHEST, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < HIGHEST)
		highest = (int)limit.rlim_cur;
	high = fcntl(fd, F_DUPFD_CLOEXEC, highest > 2 * BELOW ? highest - BELOW : highest / 2);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/*
 * The socket pair: programs inherit one end. Of a pair the kernel lets as many messages wait as the
 * sender's buffer holds; of other sockets, ten.
 */
static int make_pair(struct descriptor_inbox *inbox)
{
	const int on = 1, room = ROOM;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	inbox->received[0] = pair[0];
	inbox->inherited = move_high(pair[1]);
	if (setsockopt(inbox->inherited, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(inbox->inherited, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

static int make_named(struct descriptor_inbox *inbox, const char *name)
{
	struct sockaddr_un address;
	socklen_t size = set_address(&address, name);
	const int on = 1;

	inbox->received[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (inbox->received[1] < 0 ||
	    setsockopt(inbox->received[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return -1;
	return bind(inbox->received[1], (struct sockaddr *)&address, size);
}

static int make_poll(struct descriptor_inbox *inbox)
{
	inbox->poll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < 2 && inbox->poll >= 0; i++) {
		struct epoll_event event = {.events = EPOLLIN};

		if (epoll_ctl(inbox->poll, EPOLL_CTL_ADD, inbox->received[i], &event) < 0)
			return -1;
	}
	return inbox->poll;
}

struct err *descriptor_inbox_open(struct descriptor_inbox *inbox)
{
	char name[32] = "mallow-", key[REGISTRY_KEY_SIZE + 1];
	struct stat status;

	*inbox = DESCRIPTOR_INBOX_NONE;
	if (!random_hex(key, REGISTRY_KEY_SIZE) || !random_hex(name + strlen(name), NAME_SIZE) ||
	    make_pair(inbox) < 0 || make_named(inbox, name) < 0 || make_poll(inbox) < 0 ||
	    fstat(inbox->inherited, &status) < 0) {
		struct err *err = err_create_errno(
			errno, "cannot make the socket by which programs tell what they record");

		descriptor_inbox_close(inbox);
		return err;
	}
	snprintf(inbox->variable, sizeof(inbox->variable), "%s:%d:%ju:%s", key, inbox->inherited,
		 (uintmax_t)status.st_ino, name);
	return NULL;
}

void descriptor_inbox_close(struct descriptor_inbox *inbox)
{
	const int fds[] = {inbox->poll, inbox->received[0], inbox->received[1], inbox->inherited};

	for (size_t i = 0; i < ARRAY_COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*inbox = DESCRIPTOR_INBOX_NONE;
}

/* Takes the first descriptor of a part of a message, and closes the others. */
static void take_fds(const struct cmsghdr *part, int *fd)
{
	size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int one;

		memcpy(&one, CMSG_DATA(part) + i * sizeof(int), sizeof(one));
		if (*fd < 0)
			*fd = one;
		else
			close(one);
	}
}

/* false: the kernel did not say who sent it. */
static bool read_control(struct msghdr *message, struct inbox_message *ret)
{
	bool found = false;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		struct ucred who;

		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_RIGHTS) {
			take_fds(part, &ret->fd);
		} else if (part->cmsg_type == SCM_CREDENTIALS &&
			   part->cmsg_len == CMSG_LEN(sizeof(who))) {
			memcpy(&who, CMSG_DATA(part), sizeof(who));
			ret->pid = who.pid;
			ret->uid = who.uid;
			ret->gid = who.gid;
			found = true;
		}
	}
	return found;
}

/*
 * Whether a file can be a recording. Another user's is not looked at: even fstat() may wait for
 * ever, for the server of a file system in user space.
 */
static bool may_be_recording(const struct inbox_message *message)
{
	struct stat status;

	if (message->fd < 0)
		return false;
	return message->uid != geteuid() || descriptor_inbox_in_memory(message->fd) ||
	       (fstat(message->fd, &status) == 0 && S_ISREG(status.st_mode));
}

bool descriptor_inbox_in_memory(int fd)
{
	struct stat status;

	// Files of a tmpfs have seals, too, and names. fstat() is asked once it cannot wait.
	return fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &status) == 0 && !status.st_nlink;
}

/* Whether the message is of this run, and whole. Compares all of the key, however much is right. */
static bool is_valid(const struct descriptor_inbox *inbox, const struct registry_message *head,
		     size_t size, const struct inbox_message *message)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < REGISTRY_KEY_SIZE; i++)
		differs |= (unsigned char)(head->key[i] ^ inbox->variable[i]);
	if (size < sizeof(*head) || differs)
		return false;
	return head->kind == REGISTRY_REFUSED || head->kind == REGISTRY_STARTED ||
	       may_be_recording(message);
}

/* false: nothing waits there. *valid: what came is a message. */
static bool receive_message(struct descriptor_inbox *inbox, int *socket, struct inbox_message *ret,
			    bool *valid)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FDS_MOST * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct registry_message head = {0};
	struct iovec parts[] = {{&head, sizeof(head)}, {ret->text, REGISTRY_TEXT_MOST}};
	struct msghdr message = {.msg_iov = parts,
				 .msg_iovlen = 2,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(*socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (size < 0)
		return false;
	// Some program has shut it down for all, and there would always be something to read. The
	// address is left.
	if (size == 0 && message.msg_controllen == 0) {
		close(*socket);
		*socket = -1;
		return false;
	}
	ret->fd = -1;
	*valid = read_control(&message, ret) && is_valid(inbox, &head, (size_t)size, ret);
	if (!*valid) {
		if (ret->fd >= 0)
			close(ret->fd);
		return true;
	}
	ret->kind = (enum registry_kind)head.kind;
	ret->text[(size_t)size - sizeof(head)] = '\0';
	return true;
}

bool descriptor_inbox_take(struct descriptor_inbox *inbox, struct inbox_message *ret)
{
	bool valid = false;

	// In turn: who floods one of them must not keep the other from being read.
	inbox->turn = !inbox->turn;
	for (int i = 0; i < 2; i++) {
		int *socket = &inbox->received[i ^ inbox->turn];

		for (int n = 0; n < RUBBISH && receive_message(inbox, socket, ret, &valid); n++)
			if (valid)
				return true;
	}
	return false;
}

bool descriptor_inbox_is_used(struct descriptor_inbox *inbox)
{
	if (inbox->inherited >= 0)
		close(inbox->inherited);
	inbox->inherited = -1;
	// ECONNREFUSED: the last descriptor of the other end is closed.
	return inbox->received[0] >= 0 &&
	       (send(inbox->received[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ||
		errno == EAGAIN);
}

static bool send_message(int socket, const struct sockaddr_un *to, socklen_t to_size, int fd,
			 struct registry_message *head)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec part = {.iov_base = head, .iov_len = sizeof(*head)};
	struct msghdr message = {.msg_name = (void *)to,
				 .msg_namelen = to_size,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(*head);
}

struct err *descriptor_inbox_send(enum registry_kind kind, int fd, bool *none)
{
	const char *variable = getenv(REGISTRY_VARIABLE);
	struct registry_message head = {.kind = (char)kind};
	struct sockaddr_un address;
	struct stat status;
	auto_close int socket_fd = -1;
	uintmax_t inode;
	socklen_t size;
	int inherited, name;

	*none = !variable || strlen(variable) <= REGISTRY_KEY_SIZE ||
		sscanf(variable + REGISTRY_KEY_SIZE, ":%d:%ju:%n", &inherited, &inode, &name) != 2;
	if (*none)
		return NULL;
	memcpy(head.key, variable, sizeof(head.key));
	if (fstat(inherited, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode &&
	    send_message(inherited, NULL, 0, fd, &head))
		return NULL;
	size = set_address(&address, variable + REGISTRY_KEY_SIZE + name);
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd >= 0 && send_message(socket_fd, &address, size, fd, &head))
		return NULL;
	return err_create_errno(errno, "cannot hand a report to 'mallow live'");
}
