/* Parts of readable function names: what demanglers write, of C++ and Rust. */
#ifndef MALLOW_ANALYSIS_NAMES_FUNCTION_NAME_H
#define MALLOW_ANALYSIS_NAMES_FUNCTION_NAME_H

#include <stdbool.h>
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
 * Where a member function's own template arguments begin, if its class has arguments, too: at "<C>"
 * in "std::map<A, B>::emplace<C>". Else the end of the name. name: without parameters.
 */
const char *function_name_method_end(const char *name);

/*
 * Where a name begins behind its return type, which demangled template functions have:
 * "void std::swap<int>(int&, int&)" begins at std::swap. The name itself if it has none.
 */
const char *function_name_path(const char *name);

/* How much of a name stands before its parameters: all of it if it has none. */
size_t function_name_length(const char *name);

enum function_rust {
	FUNCTION_NOT_RUST,
	FUNCTION_RUST_V0,     /* readable, it has types that somebody chose: Vec<u8> */
	FUNCTION_RUST_LEGACY, /* it has the parameters of a type: Vec<T, A> */
};

/* How Rust made a symbol's name. NULL: not Rust. */
enum function_rust function_name_rust(const char *symbol);

/* Whether a readable name has template arguments. */
bool function_name_has_arguments(const char *name);

#endif
