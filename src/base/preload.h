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

/*
 * The name of the sanitizer whose runtime the path, or an entry of the list, is: of one with its
 * own malloc, gcc's or clang's. NULL: of none.
 */
static inline const char *preload_sanitizer(const char *entry, size_t length)
{
	static const struct {
		const char *file, *clang, *name;
	} runtimes[] = {
		{"libasan.so", "libclang_rt.asan", "AddressSanitizer"},
		{"libtsan.so", "libclang_rt.tsan", "ThreadSanitizer"},
		{"liblsan.so", "libclang_rt.lsan", "LeakSanitizer"},
		{"libhwasan.so", "libclang_rt.hwasan", "HWAddressSanitizer"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(runtimes); i++)
		if (preload_file_begins(entry, length, runtimes[i].file) ||
		    preload_file_begins(entry, length, runtimes[i].clang))
			return runtimes[i].name;
	return NULL;
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

		if (preload_sanitizer(list + position, length))
			front = position + length;
		position += length + (list[position + length] != '\0');
	}
	return front;
}

#endif
