/*
 * The places that a report is about (analysis/groups/places.h): a line for each, then the stacks
 * of the first.
 */
#ifndef MALLOW_REPORT_TEXT_PLACES_TEXT_H
#define MALLOW_REPORT_TEXT_PLACES_TEXT_H

#include "analysis/groups/places.h"
#include "analysis/facts/run_facts.h"
#include "report/words/style.h"
#include "report/views/subject.h"
#include "report/text/text_stack.h"

struct places_text {
	const struct report_subject *subject;
	const struct places *places;
	enum metric metric;
	const struct site_facts *facts;  /* of each site, for its curve; NULL: not known */
	uint32_t rows;                   /* how many lines the table has at most */
	uint32_t stacks;                 /* how many stacks follow at most */
	const struct stack_named *named; /* text_stack.h; NULL: none */
	unsigned lines;                  /* of each stack at most; 0: the usual (text_stack.h) */
};

/* Writes the table, and a line about places that are not in it. */
struct err *places_text_table(struct buf *buf, const struct style *style,
			      const struct places_text *text);

/*
 * Writes the stacks, numbered as the rows are: of a place the stack that has most, with the place's
 * sums.
 */
struct err *places_text_stacks(struct buf *buf, const struct style *style,
			       const struct places_text *text);

/* How many lines the table has. */
uint32_t places_text_lines(const struct places_text *text);

#endif
