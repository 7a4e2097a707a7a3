/*
 * Symbol names as people write them: C++ (Itanium), Rust v0 and legacy, by libiberty.
 *
 *	_ZN4core3fmt5write17h0123456789abcdefE.llvm.42    core::fmt::write
 *	_Z1fi.part.0                                      f(int) [.part.0]
 *	_Z1gNSt7__cxx1112basic_stringIcSt11char_traits…   g(std::string)
 *
 * Thread-safe. Bounded in time, stack and memory for any input.
 */
#ifndef MALLOW_SYMBOLS_DEMANGLE_H
#define MALLOW_SYMBOLS_DEMANGLE_H

#include "hosted/buf.h"
#include "hosted/err.h"

/* Writes the readable form of name, which is name itself when it is not mangled. */
void demangle(const char *name, struct buf *ret);

/*
 * How much of a readable name is left without what compilers append to the copies that they make of
 * a function: 1 of "f.isra.0", 6 of "f(int) [.part.0] [.cold]", all of other names.
 */
size_t demangle_without_clone(const char *name);

#endif
