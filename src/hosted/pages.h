/*
 * Memory for large tables, straight from the kernel and zeroed. Large enough pieces get huge pages:
 * a table that is read at random places spends its time in page table look-ups.
 */
#ifndef MALLOW_HOSTED_PAGES_H
#define MALLOW_HOSTED_PAGES_H

#include <stddef.h>

/* size > 0. The caller remembers it for pages_free(). NULL: no memory. */
void *pages_alloc(size_t size);
/* Accepts NULL. */
void pages_free(void *pages, size_t size);

#endif
