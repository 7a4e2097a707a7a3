#include "hosted/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Unmaps what lies before the first huge page, and behind the table's end. size bytes remain. */
static void *align(char *pages, size_t size)
{
	size_t before = -(uintptr_t)pages & (HUGE_PAGE - 1);
	size_t behind = HUGE_PAGE - before;

	if (before)
		munmap(pages, before);
	if (behind)
		munmap(pages + before + size, behind);
	// Without huge pages the table works as well, only slower.
	(void)madvise(pages + before, size, MADV_HUGEPAGE);
	return pages + before;
}

void *pages_alloc(size_t size)
{
	bool huge = size >= HUGE_PAGE;
	void *pages;

	if (size > PTRDIFF_MAX - HUGE_PAGE)
		return NULL;
	// Whole pages: unmapping any other size would leave a piece behind.
	size = (size + 4095) & ~(size_t)4095;
	pages = mmap(NULL, size + (huge ? HUGE_PAGE : 0), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	return huge ? align(pages, size) : pages;
}

void pages_free(void *pages, size_t size)
{
	if (pages)
		munmap(pages, (size + 4095) & ~(size_t)4095);
}
