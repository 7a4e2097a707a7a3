/* The bytes of a page of this machine's memory, which on AArch64 is the kernel's choice. */
#ifndef MALLOW_HOSTED_PAGE_SIZE_H
#define MALLOW_HOSTED_PAGE_SIZE_H

#include <stdint.h>
#include <unistd.h>

static inline uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The page that an address is in, and the first one that begins there or above. */
static inline uint64_t page_down(uint64_t address)
{
	return address & -page_size();
}

static inline uint64_t page_up(uint64_t address)
{
	return page_down(address + page_size() - 1);
}

#endif
