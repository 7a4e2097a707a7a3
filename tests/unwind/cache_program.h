/*
 * A program that does at random what moves a stack: calls of many kinds of frames, deep recursion,
 * longjmp, exceptions, coroutines, signal handlers, code without unwind tables.
 */
#ifndef TESTS_UNWIND_CACHE_PROGRAM_H
#define TESTS_UNWIND_CACHE_PROGRAM_H

#include "cache_check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Before any thread runs one: the signal handlers. */
void cache_program_init(void);

/* So many captures, on a thread of the caller's that this gives an alternate signal stack. */
void cache_program_run(struct cache_check *check, unsigned long captures);

/* cache_throw.cpp: runs act(program, depth), which may be left by cache_throw(). */
typedef void cache_program_act(void *program, unsigned depth);
void cache_throw_across(struct cache_check *check, cache_program_act *act, void *program,
			unsigned depth);
void cache_throw(struct cache_check *check);

#ifdef __cplusplus
}
#endif

#endif
