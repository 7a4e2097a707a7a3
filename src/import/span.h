/* A piece of a text that is somebody else's, without a NUL behind it. */
#ifndef MALLOW_IMPORT_SPAN_H
#define MALLOW_IMPORT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *data;
	size_t size;
};

static inline struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

static inline bool span_is(struct span span, const char *word)
{
	return span.size == strlen(word) && memcmp(span.data, word, span.size) == 0;
}

static inline bool span_begins(struct span span, const char *word)
{
	return span.size >= strlen(word) && memcmp(span.data, word, strlen(word)) == 0;
}

/* Where the word stands in it; NULL: nowhere. */
static inline const char *span_find(struct span span, const char *word)
{
	return span.size ? memmem(span.data, span.size, word, strlen(word)) : NULL;
}

/* Where the word stands in it for the last time; NULL: nowhere. */
static inline const char *span_find_last(struct span span, const char *word)
{
	size_t size = strlen(word);

	for (size_t at = span.size; at >= size; at--)
		if (memcmp(span.data + at - size, word, size) == 0)
			return span.data + at - size;
	return NULL;
}

/* What stands from there on, which is in the span, and before it. */
static inline struct span span_from(struct span span, const char *at)
{
	return (struct span){at, span.size - (size_t)(at - span.data)};
}

static inline struct span span_before(struct span span, const char *at)
{
	return (struct span){span.data, (size_t)(at - span.data)};
}

/* The same without blanks at its ends. */
static inline struct span span_trim(struct span span)
{
	while (span.size && (*span.data == ' ' || *span.data == '\t'))
		span = (struct span){span.data + 1, span.size - 1};
	while (span.size && (span.data[span.size - 1] == ' ' || span.data[span.size - 1] == '\t'))
		span.size--;
	return span;
}

#endif
