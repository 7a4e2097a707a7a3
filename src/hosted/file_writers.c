#include "hosted/file_writers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

enum file_writers file_writers_find(int fd)
{
	// If somebody opens the file while we have the lease, the kernel sends a signal. SIGIO, its
	// default, would kill us.
	fcntl(fd, F_SETSIG, SIGURG);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return FILE_WRITERS_NONE;
	}
	return errno == EAGAIN ? FILE_WRITERS_SOME : FILE_WRITERS_UNKNOWN;
}
