#include "write/still_written.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "hosted/proc.h"

enum writers {
	WRITERS_NONE,
	WRITERS_SOME,
	WRITERS_UNKNOWN,
};

/*
 * Asks the kernel for a read lease on the file. It grants one only if nobody has the file open or
 * mapped for writing, in any process or container: the pid in the header cannot tell that. Not
 * every file system grants leases, and only the file's owner may ask.
 */
static enum writers writers(int fd)
{
	// If somebody opens the file while we have the lease, the kernel sends a signal. SIGIO, its
	// default, would kill us.
	fcntl(fd, F_SETSIG, SIGURG);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return WRITERS_NONE;
	}
	return errno == EAGAIN ? WRITERS_SOME : WRITERS_UNKNOWN;
}

static bool is_alive(uint32_t pid, uint64_t start_time)
{
	return pid && start_time && process_start_time(pid) == start_time;
}

bool still_written(int fd, const struct trace_header *header)
{
	bool ended = header->state == TRACE_STATE_ENDED;
	bool alive = is_alive(header->pid, header->start_time);
	struct trace_attacher writer;

	if (header->flags & TRACE_ATTACHED)
		alive = !ended &&
			pread(fd, &writer, sizeof(writer), TRACE_ATTACHER_OFFSET) ==
				sizeof(writer) &&
			is_alive(writer.pid, writer.start_time);
	// Even if nobody has it open: if the program closed the agent's descriptor, the agent opens
	// the file again.
	if (alive && !ended)
		return true;
	switch (writers(fd)) {
	case WRITERS_SOME:
		return true;
	case WRITERS_NONE:
		return false;
	case WRITERS_UNKNOWN:
		break;
	}
	// After exec the process lives on, but the program that wrote is gone. After exit() other
	// libraries' functions may still run and allocate.
	return alive && header->end_reason != TRACE_END_EXEC;
}
