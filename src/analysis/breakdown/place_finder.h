/*
 * Which place a stack is of: stacks are of one place if they read the same in a line, by their own
 * frame's function, module, file and line, and by the function and module of the call made there.
 */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_PLACE_FINDER_H
#define MALLOW_ANALYSIS_BREAKDOWN_PLACE_FINDER_H

#include "analysis/names/own_code.h"
#include "hosted/buf.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/* Zeroed, but scratch BUF_EMPTY: knows no place. */
struct place_finder {
	struct intern texts; /* what the lines read */
	struct map by_text;  /* from the address of such a text to a place */
	struct map numbers;  /* from a frame's address to a small number */
	struct map pairs;    /* from the numbers of own frame and call to a place */
	struct buf scratch;
	uint32_t count; /* of places */
};

/* *ret: the place of that code. A new one gets the number finder->count. */
struct err *place_finder_find(struct place_finder *finder, const struct own_code *code,
			      uint32_t *ret);
void place_finder_deinit(struct place_finder *finder);

#endif
