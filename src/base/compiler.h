/* What the compiler is told and C has no word for. */
#ifndef MALLOW_BASE_COMPILER_H
#define MALLOW_BASE_COMPILER_H

#define likely(x)          __builtin_expect(!!(x), 1)
#define unlikely(x)        __builtin_expect(!!(x), 0)
#define never_inline       __attribute__((__noinline__))
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Orders plain stores against an interruption on the same thread; costs no instruction. */
#define compiler_barrier() __asm__ volatile("" ::: "memory")

#endif
