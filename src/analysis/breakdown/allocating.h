/* Functions that only hand on a request for memory, and so are nobody's choice. */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_ALLOCATING_H
#define MALLOW_ANALYSIS_BREAKDOWN_ALLOCATING_H

#include <stdbool.h>

/*
 * Whether a function, by its demangled name, is part of an allocator: malloc and operator new by
 * their names, where a program or a class has its own; what the C++ library's containers get memory
 * by (std::allocator<int>::allocate() and such); and what stands between Rust's collections and
 * malloc.
 */
bool allocating_function(const char *name);

#endif
