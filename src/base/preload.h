/*
 * The list in LD_PRELOAD: paths separated by colons or spaces. Our library goes in front of
 * everything that the user preloads, but behind the runtimes of sanitizers.
 *
 *   libfoo.so:libasan.so.8:libbar.so  ──►  libfoo.so:libasan.so.8:libmallow.so:libbar.so
 *
 * A sanitizer's runtime must start before any other library allocates. If another library's malloc
 * comes before its own, it ends the program ("CHECK failed"). So in such a program malloc is the
 * sanitizer's, and our hooks are not called.
 */
#ifndef MALLOW_BASE_PRELOAD_H
#define MALLOW_BASE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* The length of the first entry of the list, up to the separator or the end. */
static inline size_t preload_entry_length(const char *list)
{
	size_t length = 0;

	while (list[length] && list[length] != ':' && list[length] != ' ')
		length++;
	return length;
}

/*
 * Whether the file name of the entry begins with name. Written without the C library, for the
 * agent.
 */
static inline bool preload_file_begins(const char *entry, size_t length, const char *name)
{
	size_t start = length;

	while (start && entry[start - 1] != '/')
		start--;
	for (; *name; name++, start++)
		if (start == length || entry[start] != *name)
			return false;
	return true;
}

/* Whether the entry is the runtime of a sanitizer with its own malloc, gcc's or clang's. */
static inline bool preload_is_sanitizer(const char *entry, size_t length)
{
	static const char *const names[] = {
		"libasan.so",       "libtsan.so",       "liblsan.so",       "libhwasan.so",
		"libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.lsan", "libclang_rt.hwasan",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (preload_file_begins(entry, length, names[i]))
			return true;
	return false;
}

/*
 * How many bytes of the list belong in front of our library: up to the end of the last sanitizer's
 * entry, without the separator after it. 0: the list has no sanitizer.
 */
static inline size_t preload_front(const char *list)
{
	size_t front = 0, position = 0;

	while (list[position]) {
		size_t length = preload_entry_length(list + position);

		if (preload_is_sanitizer(list + position, length))
			front = position + length;
		position += length + (list[position + length] != '\0');
	}
	return front;
}

#endif
