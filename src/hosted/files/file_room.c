#include "hosted/files/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

int file_room_take(int fd, uint64_t size)
{
	struct rlimit limit;

	// Checked here, because beyond this limit the kernel would also send a signal.
	if (size > INT64_MAX || (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur))
		return EFBIG;
	return fallocate(fd, 0, 0, (off_t)size) < 0 ? errno : 0;
}
