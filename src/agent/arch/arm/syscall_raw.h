/*
 * One system call on ARM. A function, since no code of the agent's uses r7, which the number goes
 * in (agent/meson.build). Only syscall.h includes this.
 */
#ifndef MALLOW_AGENT_ARCH_ARM_SYSCALL_RAW_H
#define MALLOW_AGENT_ARCH_ARM_SYSCALL_RAW_H

long syscall_raw(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((visibility("hidden")));

#endif
