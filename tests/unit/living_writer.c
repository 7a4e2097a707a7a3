#include "living_writer.h"

#include <stdbool.h>
#include <time.h>

#include "trace/format.h"

uint64_t living_writer_ticks;
unsigned int living_writer_waits;

bool __wrap_load_writer_alive(uint32_t pid, uint64_t start_time);
uint64_t __wrap_tick_clock_now(const struct trace_header *header);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);

bool __wrap_load_writer_alive(uint32_t pid, uint64_t start_time)
{
	(void)pid;
	(void)start_time;
	return true;
}

uint64_t __wrap_tick_clock_now(const struct trace_header *header)
{
	(void)header;
	return living_writer_ticks;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time;
	(void)rest;
	living_writer_waits++;
	return 0;
}
