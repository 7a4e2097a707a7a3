/*
 * Memory for large tables, straight from the kernel: zeroed, and in huge pages where it is large
 * enough, since tables that are read at random places spend their time in page table look-ups.
 */
#ifndef MALLOW_HOSTED_PAGES_H
#define MALLOW_HOSTED_PAGES_H

#include <stddef.h>

/* size > 0, remembered by the caller. NULL: no memory. */
void *pages_alloc(size_t size);
/* Accepts NULL. */
void pages_free(void *pages, size_t size);

#endif
