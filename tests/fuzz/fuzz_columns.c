/*
 * libFuzzer target: bytes as payload, which comes out of its columns as it went in; and bytes as
 * columns, of which nothing is known.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *get(size_t size)
{
	uint8_t *bytes = calloc(1, size + COLUMNS_SLACK);

	if (!bytes)
		abort();
	return bytes;
}

static void split_and_join(const uint8_t *data, size_t size)
{
	uint8_t *payload = get(size), *joined = get(size), *starts[COLUMNS_COUNT];
	struct columns columns;

	if (size)
		memcpy(payload, data, size);
	for (int i = 0; i < COLUMNS_COUNT; i++)
		columns.at[i] = starts[i] = get(size);
	if (columns_split(&columns, payload, size)) {
		for (int i = 0; i < COLUMNS_COUNT; i++) {
			columns.end[i] = columns.at[i];
			columns.at[i] = starts[i];
		}
		if (columns_join(&columns, joined, size) != size ||
		    memcmp(joined, payload, size) != 0)
			abort();
	}
	for (int i = 0; i < COLUMNS_COUNT; i++)
		free(starts[i]);
	free(joined);
	free(payload);
}

/* The first bytes say how long each column is. */
static void join_anything(const uint8_t *data, size_t size)
{
	uint8_t *payload = get(4 * size), *starts[COLUMNS_COUNT];
	size_t at = COLUMNS_COUNT;
	struct columns columns;

	for (int i = 0; i < COLUMNS_COUNT; i++) {
		size_t left = size - at, length = data[i] < left ? data[i] : left;

		starts[i] = get(length);
		memcpy(starts[i], data + at, length);
		columns.at[i] = starts[i];
		columns.end[i] = starts[i] + length;
		at += length;
	}
	if (columns_join(&columns, payload, 4 * size) > 4 * size)
		abort();
	for (int i = 0; i < COLUMNS_COUNT; i++)
		free(starts[i]);
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	split_and_join(data, size);
	if (size > COLUMNS_COUNT)
		join_anything(data, size);
	return 0;
}
