/*
 * Allocation n fails: for programs linked with --wrap=malloc, calloc and realloc, whose own
 * objects' calls then come to failing_malloc.c. What libraries allocate for themselves never fails.
 */
#ifndef TESTS_UNIT_FAILING_MALLOC_H
#define TESTS_UNIT_FAILING_MALLOC_H

#include <stdatomic.h>

/* Allocations that still succeed, of all threads together; one fails then. Below 0: none fails. */
extern atomic_long failing_malloc_countdown;

#endif
