/* Sums by one key or two (analysis/sums/sums.h) as JSON: sums_table of answer.def. */
#ifndef MALLOW_SERVER_SUMS_JSON_H
#define MALLOW_SERVER_SUMS_JSON_H

#include "analysis/facts/run_facts.h"
#include "analysis/findings/shape.h"
#include "analysis/sums/sums.h"
#include "analysis/sums/sums_change.h"
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
	const struct series *series;       /* a curve for each row that has a key; NULL: none */
	const struct shape_result *shapes; /* one for each row; NULL: none */
	const struct chain_facts *chains;  /* one for each row that has a key; NULL: none */
};

/* Writes the object. symbolized must belong to the caller. */
struct err *sums_json_put(struct json_writer *json, const struct sums_page *page);

/* A page of rows of both sides of a difference. */
struct sums_change_page {
	const struct sums_change *change;
	struct sums_side sides[DIFF_SIDES];
	const struct sums_row *rows[DIFF_SIDES];
	uint64_t count;
};

/* Writes the field "change": sums_change of answer.def. */
void sums_json_field_change(struct json_writer *json, const struct sums_change_page *page);

#endif
