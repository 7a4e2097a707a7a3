#include "agent/ground/state.h"

#include "agent/arch/syscall.h"

struct process *process;
bool process_forbidden;
bool process_dispatched;
uint8_t process_id[16];

uint32_t toggle_state = TOGGLE_UNSETTLED;
uint32_t toggle_wanted = TOGGLE_ON;
uint32_t toggle_watched;
uint32_t toggle_idle;
bool toggle_started;

uint8_t live_way;

void process_count_losses(enum trace_loss reason, uint64_t count)
{
	// Read once: a handler may fork, and the child, which returns here, finds it wiped.
	struct trace_header *header =
		process ? __atomic_load_n(&process->header, __ATOMIC_RELAXED) : NULL;

	if (header)
		__atomic_fetch_add(&header->losses[reason], count, __ATOMIC_RELAXED);
}

void process_count_loss(enum trace_loss reason)
{
	process_count_losses(reason, 1);
}

bool process_is_borrowed(void)
{
	return process && process->pid && !process_system_calls_forbidden() &&
	       process->pid != sys_getpid();
}
