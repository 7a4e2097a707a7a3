/* What the parts of recordings_compare() share. */
#ifndef MALLOW_TESTS_RECORDINGS_COMPARE_INSIDE_H
#define MALLOW_TESTS_RECORDINGS_COMPARE_INSIDE_H

#include <string.h>

#include "analysis/recording.h"

struct hashes {
	size_t count;
	uint64_t *items;
};

/* A recording, and for each of its modules, frames and nodes a hash of what it is. */
struct side {
	const struct recording *recording;
	struct hashes modules, frames, nodes;
};

/* Makes the text that recordings_compare() returns. */
__attribute__((format(printf, 1, 2))) const char *recordings_differ(const char *format, ...);

/* The hash of a stack, by its innermost node or RECORDING_NONE. */
uint64_t recordings_stack_of(const struct side *side, uint32_t node);

/* Each: as recordings_compare(), of a part. */
const char *recordings_compare_blocks(const struct side *a, const struct side *b);
const char *recordings_compare_errors(const struct side *a, const struct side *b);
const char *recordings_compare_run_facts(const struct side *a, const struct side *b);

/* For functions of a and b. Then left and right are what is compared, and i is the index in them.
 */
#define COUNTS(get)                                                                                \
	uint32_t count, others;                                                                    \
	__auto_type left = get(a->recording, &count);                                              \
	__auto_type right = get(b->recording, &others);                                            \
	if (count != others)                                                                       \
	return recordings_differ("%s: %u, %u", #get, count, others)
#define SAME(field)                                                                                \
	do {                                                                                       \
		if (left[i].field != right[i].field)                                               \
			return recordings_differ("%s, number %llu: %lld, %lld", #field,            \
						 (unsigned long long)i, (long long)left[i].field,  \
						 (long long)right[i].field);                       \
	} while (0)
#define SAME_TEXT(field)                                                                           \
	do {                                                                                       \
		if (strcmp(left[i].field, right[i].field) != 0)                                    \
			return recordings_differ("%s, number %u: %s, %s", #field, i,               \
						 left[i].field, right[i].field);                   \
	} while (0)
#define SAME_STACK(field)                                                                          \
	do {                                                                                       \
		if (recordings_stack_of(a, left[i].field) !=                                       \
		    recordings_stack_of(b, right[i].field))                                        \
			return recordings_differ("%s, number %u: other stacks", #field, i);        \
	} while (0)
#define SAME_BYTES(what, left, right, size)                                                        \
	do {                                                                                       \
		const char *bytes_ = (const void *)(left), *others_ = (const void *)(right);       \
                                                                                                   \
		for (size_t at_ = 0; at_ < (size_t)(size); at_++)                                  \
			if (bytes_[at_] != others_[at_])                                           \
				return recordings_differ("%s: byte %zu of %zu", what, at_,         \
							 (size_t)(size));                          \
	} while (0)

#endif
