/* How much memory may still be used without taking it from others. */
#ifndef MALLOW_HOSTED_AVAILABLE_MEMORY_H
#define MALLOW_HOSTED_AVAILABLE_MEMORY_H

#include <stdint.h>

/*
 * In bytes: what the kernel could give without swapping (MemAvailable), or, if that is less, what
 * is left up to the limit of this process's control group (version 2) or one above it. UINT64_MAX:
 * not known.
 */
uint64_t available_memory(void);

#endif
