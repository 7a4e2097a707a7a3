/* What differs from kernel to kernel, as the kernel says in the auxiliary vector. */
#include "agent/arch/machine.h"

#include <sys/auxv.h>

#include "base/compiler.h"

// Weak, like every import: without it nothing is recorded.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));

uint64_t arch_page(void)
{
	static uint64_t known;
	uint64_t page = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (likely(page))
		return page;
	page = getauxval ? getauxval(AT_PAGESZ) : 0;
	if (!page)
		page = 4096;
	__atomic_store_n(&known, page, __ATOMIC_RELAXED);
	return page;
}

unsigned int arch_space_bits(void)
{
	// At the end of the first thread's stack, which is at the end of the space.
	uint64_t stack = getauxval ? getauxval(AT_RANDOM) : 0;

	return stack ? 64 - (unsigned int)__builtin_clzl(stack) : ARCH_ADDRESS_BITS;
}
