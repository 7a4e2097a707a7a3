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

#define PAGE_RANGES_MAX 16

struct page_range {
	char *data; /* writable; only whole pages within it are touched */
	size_t size;
};

/*
 * A thread that touches pages before they are written to. The writer then does not wait for the
 * kernel to find memory and clear it. This only saves time: nothing depends on it.
 */
struct page_toucher;

/* NULL: there is only one processor, no memory, or no thread. The functions below accept NULL. */
struct page_toucher *page_toucher_create(void);
void page_toucher_destroy(struct page_toucher *toucher);

/* Asks the thread to touch these, at most PAGE_RANGES_MAX. Ignored while it is still busy. */
void page_toucher_ask(struct page_toucher *toucher, const struct page_range *ranges, size_t count);

/* Waits until the thread has nothing to do. After that the ranges may be unmapped. */
void page_toucher_wait(struct page_toucher *toucher);

#endif
