/*
 * Makes symbol names readable: C++ (Itanium), Rust v0 and legacy, by libiberty.
 *
 *	_ZN4core3fmt5write17h0123456789abcdefE.llvm.42    core::fmt::write
 *	_Z1fi.part.0                                      f(int) [.part.0]
 *	_Z1gNSt7__cxx1112basic_stringIcSt11char_traits…   g(std::string)
 *
 * Thread-safe. Time, stack and memory are bounded for any input.
 */
#ifndef MALLOW_SYMBOLS_DEMANGLE_H
#define MALLOW_SYMBOLS_DEMANGLE_H

#include "hosted/buf.h"
#include "hosted/err.h"

/*
 * Appends the readable form of name to ret: name itself if it is not mangled. Out of memory: ret
 * fails (buf.h).
 */
void demangle(const char *name, struct buf *ret);

/*
 * The length of a readable name without what compilers append to copies of a function: 1 for
 * "f.isra.0", 6 for "f(int) [.part.0] [.cold]", the whole length for other names.
 */
size_t demangle_without_clone(const char *name);

#endif
