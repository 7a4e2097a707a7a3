/*
 * libFuzzer target: a text before the first byte 0xff is a file of suppressions, whose patterns are
 * then looked for in what follows.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/suppressions.h"
#include "analysis/names/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0xff, size);
	size_t file = end ? (size_t)(end - data) : size;
	char *text = strndup(end ? (const char *)end + 1 : "", end ? size - file - 1 : 0);
	struct suppressions *suppressions;
	const struct suppression *list;
	struct err *err;
	size_t count;

	if (!text || suppressions_create(&suppressions))
		abort();
	err = suppressions_add(suppressions, "x", (const char *)data, file);
	list = suppressions_list(suppressions, &count);
	if (err && count)
		abort();
	for (size_t i = 0; i < count; i++) {
		// A pattern without signs is in a text or not.
		if (!strpbrk(list[i].pattern, "^$*") && *text &&
		    pattern_matches(list[i].pattern, text) !=
			    (strstr(text, list[i].pattern) != NULL))
			abort();
		pattern_matches(list[i].pattern, text);
	}
	err_destroy(err);
	suppressions_destroy(suppressions);
	free(text);
	return 0;
}
