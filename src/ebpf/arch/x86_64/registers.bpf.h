/* What a probe sees of a call on x86-64. The names are those of ebpf/bpf/registers.bpf.h. */
#ifndef MALLOW_EBPF_ARCH_X86_64_REGISTERS_BPF_H
#define MALLOW_EBPF_ARCH_X86_64_REGISTERS_BPF_H

#include <stdint.h>

/* Fixed: it is what ptrace sees. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#define REGS_PC    ip
#define REGS_SP    sp
#define REGS_FP    bp
#define REGS_VALUE ax

/* A call pushes the return address. */
#define RETURN_SIZE     8
#define regs_link(regs) 0

static inline __attribute__((always_inline)) void
regs_arguments(const volatile struct pt_regs *regs, uint64_t ret[6])
{
	ret[0] = regs->di;
	ret[1] = regs->si;
	ret[2] = regs->dx;
	ret[3] = regs->cx;
	ret[4] = regs->r8;
	ret[5] = regs->r9;
}

#endif
