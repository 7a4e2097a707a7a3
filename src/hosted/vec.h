/*
 * Growable arrays of any type:
 *
 *	VEC(uint64_t) times = VEC_EMPTY;
 *	if (!vec_reserve(&times, 1))
 *		return err_no_memory();
 *	times.items[times.count++] = now;
 *	vec_deinit(&times);
 *
 * Indices stay valid while an array grows, pointers do not. A size that would overflow is "no
 * memory".
 */
#ifndef MALLOW_HOSTED_VEC_H
#define MALLOW_HOSTED_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

#define VEC_EMPTY                                                                                  \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

/* Makes room for `more` items behind the last. False: no memory, nothing changed. */
#define vec_reserve(vec, more)                                                                     \
	(__builtin_expect((size_t)(more) <= (vec)->capacity - (vec)->count, 1) ||                  \
	 vec_grow((void **)&(vec)->items, &(vec)->capacity, (vec)->count, (more),                  \
		  sizeof(*(vec)->items)))

/* Appends a value. False: no memory. */
#define vec_push(vec, ...)                                                                         \
	(vec_reserve((vec), 1) && ((vec)->items[(vec)->count++] = (__VA_ARGS__), true))

/* Appends all items of another array of that type. False: no memory, nothing changed. */
#define vec_append(vec, from)                                                                      \
	(!(from)->count ||                                                                         \
	 (vec_reserve((vec), (from)->count) && (memcpy((vec)->items + (vec)->count, (from)->items, \
						       (from)->count * sizeof(*(vec)->items)),     \
						(vec)->count += (from)->count, true)))

#define vec_deinit(vec)                                                                            \
	do {                                                                                       \
		free((vec)->items);                                                                \
		(vec)->items = NULL;                                                               \
		(vec)->count = (vec)->capacity = 0;                                                \
	} while (0)

/* Used by vec_reserve(): makes room for count + more items, and at least doubles the capacity. */
bool vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t item_size);

#endif
