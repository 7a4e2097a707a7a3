/*
 * What was made for a request and is kept for the next: an array of pointers, the latest used
 * first. The last one is the one to make room.
 */
#ifndef MALLOW_SERVER_RECENT_H
#define MALLOW_SERVER_RECENT_H

#include <stddef.h>
#include <string.h>

/* Puts the pointer at index of the array in front, and those before it behind it. */
static inline void recent_use(void *pointers, size_t index)
{
	char *first = pointers;
	void *used;

	memcpy(&used, first + index * sizeof(used), sizeof(used));
	memmove(first + sizeof(used), first, index * sizeof(used));
	memcpy(first, &used, sizeof(used));
}

#endif
