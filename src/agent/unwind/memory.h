/* Memory of the unwinder: what struct unwind_host gives. */
#ifndef MALLOW_AGENT_UNWIND_MEMORY_H
#define MALLOW_AGENT_UNWIND_MEMORY_H

#include <stddef.h>

/* Zeroed pages that are never returned; NULL: none left. Any thread, any signal handler. */
void *unwind_allocate(size_t size);

#endif
