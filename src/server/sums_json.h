/* Sums by one key or two (analysis/sums/sums.h) as JSON: sums_table of answer.def. */
#ifndef MALLOW_SERVER_SUMS_JSON_H
#define MALLOW_SERVER_SUMS_JSON_H

#include "analysis/sums/sums.h"
#include "analysis/views/series.h"
#include "hosted/json_writer.h"

#define SUMS_KEYS 2

/* A page of rows. */
struct sums_page {
	const struct recording *recording;
	struct symbolized *symbolized;
	size_t keys;                                  /* one or two … */
	const struct block_groups *groups[SUMS_KEYS]; /* … and what they are groups of */
	const struct sums *sums;
	const struct sums_row *rows;
	uint64_t count;
	const struct series *series; /* a curve for each row that has a key; NULL: none */
};

/* Writes the object. symbolized must belong to the caller. */
struct err *sums_json_put(struct json_writer *json, const struct sums_page *page);

#endif
