#include "finish/finish_live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "analysis/load/load.h"

enum writers {
	WRITERS_NONE,
	WRITERS_SOME,
	WRITERS_UNKNOWN,
};

/*
 * The kernel grants a read lease on a file that nobody has open or mapped for writing, in whatever
 * process, container or state: what a pid in the header cannot tell. Not every file system can,
 * and it takes the file's owner.
 */
static enum writers writers(int fd)
{
	// Who opens the file in the moment of the lease would have us killed by SIGIO.
	fcntl(fd, F_SETSIG, SIGURG);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return WRITERS_NONE;
	}
	return errno == EAGAIN ? WRITERS_SOME : WRITERS_UNKNOWN;
}

bool finish_live(int fd, const struct trace_header *header)
{
	bool ended = header->state == TRACE_STATE_ENDED;
	bool alive = load_writer_alive(header->pid, header->start_time);

	switch (writers(fd)) {
	case WRITERS_SOME:
		return true;
	case WRITERS_NONE:
		// An agent whose descriptor the program closed opens the file again.
		return alive && !ended;
	case WRITERS_UNKNOWN:
		break;
	}
	// A process lives on after exec, but its image that wrote does not; after exit() functions
	// of other libraries may still run and allocate.
	return alive && !(ended && header->end_reason == TRACE_END_EXEC);
}
