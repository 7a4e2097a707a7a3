/* Memory of the unwinder: what struct unwind_host gives. */
#ifndef MALLOW_AGENT_UNWIND_MEMORY_H
#define MALLOW_AGENT_UNWIND_MEMORY_H

#include <stddef.h>

struct unwind_host;

/* Before all else. */
void unwind_memory_init(const struct unwind_host *host);

/* Zeroed pages that are never returned; NULL: none left. Any thread, any signal handler. */
void *unwind_allocate(size_t size);

/* Calls function(argument) by unwind_host.run: for rare work with more than 200 bytes of stack. */
void unwind_run_slow(void (*function)(void *argument), void *argument);

#endif
