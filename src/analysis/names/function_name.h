/* Parts of readable function names: what demanglers write, of C++ and Rust. */
#ifndef MALLOW_ANALYSIS_NAMES_FUNCTION_NAME_H
#define MALLOW_ANALYSIS_NAMES_FUNCTION_NAME_H

#include <stddef.h>

/*
 * The length of the text from an opening bracket, '(' or '<', to the one that closes it. 0: none
 * closes it.
 */
size_t function_name_bracketed(const char *text);

/*
 * The length of "operator" and its signs, "operator()", "operator<<"; of "operator new" and of
 * conversions that of the word. 0: there is none at text.
 */
size_t function_name_operator(const char *text);

/*
 * Where a name begins behind its return type, which demangled template functions have:
 * "void std::swap<int>(int&, int&)" begins at std::swap. The name itself if it has none.
 */
const char *function_name_path(const char *name);

#endif
