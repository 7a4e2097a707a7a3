/*
 * A small cache in LRU order: an array of pointers, the latest used first. The last one makes room
 * for a new one.
 */
#ifndef MALLOW_SERVER_DATA_RECENT_H
#define MALLOW_SERVER_DATA_RECENT_H

#include <stddef.h>
#include <string.h>

/* Moves the pointer at index to the front of the array; those before it move back by one. */
static inline void recent_use(void *pointers, size_t index)
{
	char *first = pointers;
	void *used;

	memcpy(&used, first + index * sizeof(used), sizeof(used));
	memmove(first + sizeof(used), first, index * sizeof(used));
	memcpy(first, &used, sizeof(used));
}

#endif
