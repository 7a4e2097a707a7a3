#include "agent/unwind/memory.h"

#include "agent/unwind/unwind.h"

static void *(*allocate_pages)(size_t size);

void *unwind_allocate(size_t size)
{
	return allocate_pages(size);
}

static void run_here(void (*function)(void *argument), void *argument)
{
	function(argument);
}

static void (*run)(void (*function)(void *argument), void *argument) = run_here;

void unwind_run_slow(void (*function)(void *argument), void *argument)
{
	run(function, argument);
}

void unwind_memory_init(const struct unwind_host *host)
{
	allocate_pages = host->allocate;
	run = host->run ? host->run : run_here;
}
