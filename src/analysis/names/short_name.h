/*
 * Short forms of demangled names, for people:
 *
 *	void std::vector<A, std::allocator<A>>::push_back(A const&)   std::vector<A>::push_back
 *	std::__cxx11::basic_string<char, …>::append(char const*)      std::string::append
 *	Cache::put(int) const                                         Cache::put
 *	main::{lambda(int)#1}::operator()(int) const                  main::{lambda}
 *	main::$_1::operator()(int) const                              main::{lambda#2}
 *	(anonymous namespace)::f(char)                                (anon)::f
 *
 * These are left out: the return type, lists of parameters, inline namespaces. Of the standard
 * library's templates also: default arguments, and arguments of function templates that only repeat
 * the types that they were called with. Types that somebody chose stay. Two functions may have the
 * same short name: overloads, for instance.
 */
#ifndef MALLOW_ANALYSIS_NAMES_SHORT_NAME_H
#define MALLOW_ANALYSIS_NAMES_SHORT_NAME_H

#include "hosted/buf.h"

enum short_name_form {
	SHORT_NAME_USUAL,
	SHORT_NAME_PARAMETERS, /* with lists of parameters */
	SHORT_NAME_FIRST,      /* of each list of template arguments only the first: <A, …> */
};

/* Writes the short form of name. Never writes nothing, unless name is empty. */
void short_name_put(struct buf *buf, const char *name, enum short_name_form form);

#endif
