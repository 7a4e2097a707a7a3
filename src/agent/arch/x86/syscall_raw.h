/*
 * One system call on x86 of 32 bits. A function: ebp, which the sixth argument goes in, is the
 * frame pointer of whoever this would be inlined into, and tables must say so. Only syscall.h
 * includes this.
 */
#ifndef MALLOW_AGENT_ARCH_X86_SYSCALL_RAW_H
#define MALLOW_AGENT_ARCH_X86_SYSCALL_RAW_H

long syscall_raw(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((visibility("hidden")));

#endif
