#include "cli/descriptor_inbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct err *descriptor_inbox_open(struct descriptor_inbox *inbox)
{
	const char *place = getenv("TMPDIR");
	struct sockaddr_un *address = &inbox->address;
	char directory[sizeof(inbox->directory)];
	const int on = 1;

	*inbox = (struct descriptor_inbox){.socket = -1};
	// A long directory does not fit into a socket's name.
	if (!place || !*place || strlen(place) > sizeof(directory) / 2)
		place = "/tmp";
	snprintf(directory, sizeof(directory), "%s/mallow-live-XXXXXX", place);
	if (!mkdtemp(directory))
		return err_create_errno(errno, "cannot make the directory '%s'", directory);
	memcpy(inbox->directory, directory, sizeof(directory));
	address->sun_family = AF_UNIX;
	if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%s/tables",
			     directory) >= sizeof(address->sun_path))
		return err_create("'%s': too long for a socket", directory);
	inbox->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (inbox->socket < 0 ||
	    setsockopt(inbox->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    bind(inbox->socket, (struct sockaddr *)address, sizeof(*address)) < 0)
		return err_create_errno(errno, "cannot make the socket '%s'", address->sun_path);
	return NULL;
}

void descriptor_inbox_close(struct descriptor_inbox *inbox)
{
	if (inbox->socket >= 0)
		close(inbox->socket);
	inbox->socket = -1;
	if (!*inbox->directory)
		return;
	unlink(inbox->address.sun_path);
	rmdir(inbox->directory);
	*inbox->directory = '\0';
}

/* The descriptor and the sender that came with a message. false: no descriptor. */
static bool read_control(struct msghdr *message, int *fd, pid_t *pid)
{
	bool found = false;

	*pid = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		struct ucred who;

		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_RIGHTS && part->cmsg_len == CMSG_LEN(sizeof(int))) {
			memcpy(fd, CMSG_DATA(part), sizeof(*fd));
			found = true;
		} else if (part->cmsg_type == SCM_CREDENTIALS &&
			   part->cmsg_len == CMSG_LEN(sizeof(who))) {
			memcpy(&who, CMSG_DATA(part), sizeof(who));
			*pid = who.pid;
		}
	}
	return found;
}

bool descriptor_inbox_take(struct descriptor_inbox *inbox, int *fd, pid_t *pid,
			   enum live_message *ret)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};

	for (;;) {
		message.msg_controllen = sizeof(control);
		if (recvmsg(inbox->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
			return false;
		if (!read_control(&message, fd, pid))
			continue;
		*ret = (enum live_message)byte;
		return true;
	}
}
