/*
 * Recognises functions that only pass on a request for memory: the caller chose to allocate, not
 * they.
 */
#ifndef MALLOW_ANALYSIS_NAMES_ALLOCATING_H
#define MALLOW_ANALYSIS_NAMES_ALLOCATING_H

#include <stdbool.h>

/*
 * Whether a function is part of an allocator, by its demangled name. These are: malloc and operator
 * new, also those that a program or a class defines itself; functions by which C++ containers get
 * memory (std::allocator<int>::allocate() and such); and functions between Rust's collections and
 * malloc.
 */
bool allocating_function(const char *name);

/*
 * Whether it is a function by which a program asks an allocator: malloc, operator new, and those of
 * a Rust program's own allocator.
 */
bool allocating_entry(const char *name);

#endif
