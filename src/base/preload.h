/*
 * The list of LD_PRELOAD: paths with a colon or a space between them. Where our library stands in
 * it: in front of all that the user preloads, but behind the runtimes of sanitizers.
 *
 *   libfoo.so:libasan.so.8:libbar.so  ──►  libfoo.so:libasan.so.8:libmallow.so:libbar.so
 *
 * A preloaded runtime must have begun before any other library allocates; with another one's malloc
 * in front of its own, it ends the program ("CHECK failed"). So its malloc serves the program, and
 * ours sees nothing of it.
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

/* Whether the entry names a file that begins so. Without the C library, for the agent. */
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

/* Whether the entry is a runtime that has a malloc of its own: of gcc's or of clang's sanitizers.
 */
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
 * How much of the list stands in front of our library: up to its last sanitizer, without the
 * separator behind that. 0: nothing.
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
