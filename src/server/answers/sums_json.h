/* Sums by one key or two (analysis/sums/sums.h) as JSON, sums_table of answer.def, and as CSV. */
#ifndef MALLOW_SERVER_ANSWERS_SUMS_JSON_H
#define MALLOW_SERVER_ANSWERS_SUMS_JSON_H

#include "analysis/facts/run_facts.h"
#include "analysis/findings/shape.h"
#include "analysis/sums/sums.h"
#include "analysis/sums/sums_change.h"
#include "analysis/views/series.h"
#include "server/data/columns.h"

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
	bool identities; /* stacks have their identities on every host: site_identity.h */
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

/* The groups that rows of a page have, each once, and of each row which of these it has. */
struct sums_keys {
	uint32_t *groups;
	uint32_t *indices; /* RECORDING_NONE: none */
	uint32_t count;
};

/*
 * The same columns as CSV, with their keys: those of a page, or of both sides of a difference and
 * its changes. Zeroed: none.
 */
struct sums_csv {
	struct columns columns;
	struct sums_keys keys[DIFF_SIDES * SUMS_KEYS];
	size_t key_count;
	uint64_t rows;
};

void sums_csv_deinit(struct sums_csv *csv);
/* Adds a page. side: what stands in front of its names; NULL: nothing. As sums_json_put(). */
struct err *sums_csv_add(struct sums_csv *csv, const char *side, const struct sums_page *page);
void sums_csv_add_change(struct sums_csv *csv, const struct sums_change_page *page);
/* The only error: no memory. */
struct err *sums_csv_write(const struct sums_csv *csv, struct buf *buf);

#endif
