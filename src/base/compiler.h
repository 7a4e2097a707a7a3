/* Hints and attributes for the compiler that C has no word for. */
#ifndef MALLOW_BASE_COMPILER_H
#define MALLOW_BASE_COMPILER_H

#define likely(x)          __builtin_expect(!!(x), 1)
#define unlikely(x)        __builtin_expect(!!(x), 0)
#define never_inline       __attribute__((__noinline__))
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * For declarations of variables that hooks read: the variable is in this library. The option
 * -fvisibility applies to definitions only, so without this each read would first look up where the
 * variable is.
 */
#define hidden __attribute__((__visibility__("hidden")))

/*
 * Keeps the compiler from moving loads and stores across it. So a signal handler on the same thread
 * sees them in the order of the source. Costs no instruction.
 */
#define compiler_barrier() __asm__ volatile("" ::: "memory")

#endif
