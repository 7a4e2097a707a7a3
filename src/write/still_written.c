#include "write/still_written.h"

#include <unistd.h>

#include "hosted/file_writers.h"
#include "hosted/proc.h"

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
	switch (file_writers_find(fd)) {
	case FILE_WRITERS_SOME:
		return true;
	case FILE_WRITERS_NONE:
		return false;
	case FILE_WRITERS_UNKNOWN:
		break;
	}
	// After exec the process lives on, but the program that wrote is gone. After exit() other
	// libraries' functions may still run and allocate.
	return alive && header->end_reason != TRACE_END_EXEC;
}
