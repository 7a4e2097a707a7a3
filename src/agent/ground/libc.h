/* The few functions of string.h that the agent needs. They are its own, see libc.c. */
#ifndef MALLOW_AGENT_GROUND_LIBC_H
#define MALLOW_AGENT_GROUND_LIBC_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *string);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);

#endif
