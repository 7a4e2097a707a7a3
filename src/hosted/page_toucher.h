/*
 * A thread that makes pages present before they are written to, so that who writes does not wait
 * for the kernel to find memory and clear it. It is only faster: nothing depends on it.
 */
#ifndef MALLOW_HOSTED_PAGE_TOUCHER_H
#define MALLOW_HOSTED_PAGE_TOUCHER_H

#include <stddef.h>

#define PAGE_RANGES_MAX 16

struct page_range {
	char *data; /* writable; whole pages within it are touched */
	size_t size;
};

struct page_toucher;

/* NULL: there is one processor, no memory or no thread. All that follows accepts that. */
struct page_toucher *page_toucher_create(void);
void page_toucher_destroy(struct page_toucher *toucher);

/* Touches these, at most PAGE_RANGES_MAX, unless it is still busy. */
void page_toucher_ask(struct page_toucher *toucher, const struct page_range *ranges, size_t count);

/* It is not at work any more: what was asked for may be unmapped. */
void page_toucher_wait(struct page_toucher *toucher);

#endif
