/* What a probe sees of a call on AArch64. The names are those of ebpf/bpf/registers.bpf.h. */
#ifndef MALLOW_EBPF_ARCH_AARCH64_REGISTERS_BPF_H
#define MALLOW_EBPF_ARCH_AARCH64_REGISTERS_BPF_H

#include <stdint.h>

/* Fixed: it is what ptrace sees (struct user_pt_regs). */
struct pt_regs {
	unsigned long regs[31], sp, pc, pstate;
};

#define REGS_PC    pc
#define REGS_SP    sp
#define REGS_FP    regs[29]
#define REGS_VALUE regs[0]

/* A call leaves the return address in x30. */
#define RETURN_SIZE       0
#define regs_link(probed) ((probed)->regs[30])

static inline __attribute__((always_inline)) void
regs_arguments(const volatile struct pt_regs *regs, uint64_t ret[6])
{
	ret[0] = regs->regs[0];
	ret[1] = regs->regs[1];
	ret[2] = regs->regs[2];
	ret[3] = regs->regs[3];
	ret[4] = regs->regs[4];
	ret[5] = regs->regs[5];
}

#endif
