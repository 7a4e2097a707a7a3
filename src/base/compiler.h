/* What the compiler is told and C has no word for. */
#ifndef MALLOW_BASE_COMPILER_H
#define MALLOW_BASE_COMPILER_H

#define likely(x)          __builtin_expect(!!(x), 1)
#define unlikely(x)        __builtin_expect(!!(x), 0)
#define never_inline       __attribute__((__noinline__))
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * For declarations of variables that hooks look at: in this library. -fvisibility says that of
 * definitions alone, and without it each look first finds out where the variable is.
 */
#define hidden __attribute__((__visibility__("hidden")))

/* Orders plain stores against an interruption on the same thread; costs no instruction. */
#define compiler_barrier() __asm__ volatile("" ::: "memory")

#endif
