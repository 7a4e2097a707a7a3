/* For samples that interrupt the agent at each of its instructions, by the processor's trap flag.
 */
#ifndef STEP_H
#define STEP_H

#include "sample.h"

#include <link.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100 /* SIGTRAP after each instruction */

/* The module that a function is in. */
struct code {
	unsigned long function, start, end;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
	struct code *code = (struct code *)data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		unsigned long start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (code->function - start >= info->dlpi_phdr[i].p_memsz)
			continue;
		code->start = start;
		code->end = start + info->dlpi_phdr[i].p_memsz;
	}
	return 0;
}

static inline struct code code_of(void *function)
{
	struct code code = {(unsigned long)function, 0, 0};

	dl_iterate_phdr(find_code, &code);
	return code;
}

static inline int code_has(const struct code *code, unsigned long pc)
{
	return pc - code->start < code->end - code->start;
}

static inline unsigned long step_pc(void *context)
{
	return (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* Where a step may not go on: the agent blocks signals now and then, and a trap then is the end. */
static inline int step_is_system_call(unsigned long pc)
{
	return !memcmp((void *)pc, "\x0f\x05", 2);
}

/* From within a handler: what it returns to is stepped through, or no longer. */
static inline void step_on_return(int on, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	*flags = on ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
}

/* From here on, or no longer. The flag may be set by its owner, but no further than the red zone.
 */
static inline void step(int on)
{
	unsigned long flag = on ? TRAP_FLAG : 0;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushf\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popf\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "r"(flag)
			 : "memory", "cc");
}

#endif
