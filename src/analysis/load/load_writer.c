#include "analysis/load/load.h"
#include "hosted/proc.h"

bool load_writer_alive(uint32_t pid, uint64_t start_time)
{
	return pid && start_time && process_start_time(pid) == start_time;
}
