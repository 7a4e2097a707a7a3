/* Counts the pages that blocks lie in, and whose they are. */
#include <stdlib.h>

#include "analysis/views/space_data.h"

/* Below this, blocks use less than a tenth of a page. */
#define SPARSE ((1u << SPACE_PAGE) / 10 + 1)

/* The page that the latest block ended in: the next one may lie in it, too. */
struct page {
	uint64_t number;
	bool open;
	bool matches; /* a matching block is in it … */
	bool shared;  /* … and one that does not match */
	bool mixed;   /* blocks of several groups */
	uint32_t group;
	uint64_t used;  /* by matching blocks */
	uint64_t begun; /* blocks that begin in it */
	/* A block from pages before reaches into it, and is counted as one that keeps pages. */
	bool carried, carried_counted;
};

struct counting {
	struct space_sum *sum;        /* of the lane */
	struct space_keeper *keepers; /* of each group */
	struct page page;
};

static void keep(struct counting *counting, uint32_t group, uint64_t pages, uint64_t used,
		 uint64_t blocks)
{
	struct space_keeper *keeper = &counting->keepers[group];

	keeper->pages += pages;
	keeper->kept_by_bytes += pages * used;
	keeper->kept_by_blocks += blocks;
}

static void count_pages(struct counting *counting, uint64_t pages, uint64_t used, bool kept)
{
	counting->sum->pages += pages;
	if (kept)
		counting->sum->kept_pages += pages;
	if (kept && used < SPARSE)
		counting->sum->sparse_pages += pages;
}

/* Counts the page. Returns whether its group keeps it. */
static bool close_page(struct counting *counting)
{
	struct page *page = &counting->page;
	bool kept = page->open && page->matches && !page->shared && !page->mixed;

	if (page->open && page->matches)
		count_pages(counting, 1, page->used, !page->shared);
	if (kept)
		keep(counting, page->group, 1, page->used,
		     page->begun + (page->carried && !page->carried_counted));
	*page = (struct page){0};
	return kept;
}

/* Adds a part of a block to the page of that number. begins: it is the block's first part. */
static void add_to_page(struct page *page, uint64_t number, const struct space_block *block,
			uint64_t used, bool begins, bool counted)
{
	if (!page->open)
		*page = (struct page){.number = number, .open = true, .group = block->group};
	page->matches |= block->matches;
	page->shared |= !block->matches;
	page->mixed |= block->group != page->group;
	page->used += block->matches ? used : 0;
	page->begun += begins;
	if (!begins) {
		page->carried = true;
		page->carried_counted = counted;
	}
}

static void count_block(struct counting *counting, const struct space_block *block)
{
	struct space_run runs[5];
	size_t count = space_cut(block, SPACE_PAGE, runs);
	bool counted = false; /* as one that keeps pages */

	for (size_t i = 0; i < count; i++) {
		bool new = !counting->page.open || counting->page.number != runs[i].first;

		// Its own last page, or a page of others.
		if (new)
			counted |= close_page(counting) && i;
		if (runs[i].count == 1) {
			add_to_page(&counting->page, runs[i].first, block, runs[i].used, !i,
				    counted);
		} else if (block->matches) {
			count_pages(counting, runs[i].count, runs[i].used, true);
			keep(counting, block->group, runs[i].count, runs[i].used, !counted);
			counted = true;
		}
	}
	if (!block->matches)
		return;
	counting->sum->used += block->size;
	counting->sum->slack += block->slack;
	counting->sum->blocks++;
	counting->keepers[block->group].used += block->size;
	counting->keepers[block->group].blocks++;
}

/* Most pages first. */
static int compare_keepers(const void *left, const void *right)
{
	const struct space_keeper *a = left, *b = right;

	if (a->pages != b->pages)
		return a->pages > b->pages ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

static void add_keeper(struct space_keeper *sum, const struct space_keeper *more)
{
	sum->groups++;
	sum->used += more->used;
	sum->blocks += more->blocks;
	sum->pages += more->pages;
	sum->kept_by_bytes += more->kept_by_bytes;
	sum->kept_by_blocks += more->kept_by_blocks;
}

/* Chooses those that keep most; the others become one. Takes the array, one for each group. */
static void choose_keepers(const struct space_query *query, struct space_keeper *keepers,
			   struct space *space)
{
	uint32_t count = 0;
	struct space_keeper others = {.group = RECORDING_NONE};

	for (uint32_t i = 0; i < query->groups->count; i++) {
		if (!keepers[i].pages)
			continue;
		keepers[count] = keepers[i];
		keepers[count].group = i;
		keepers[count++].groups = 1;
	}
	qsort(keepers, count, sizeof(*keepers), compare_keepers);
	for (uint32_t i = query->top; i < count; i++)
		add_keeper(&others, &keepers[i]);
	if (others.groups) {
		keepers[query->top] = others;
		count = query->top + 1;
	}
	space->keepers = keepers;
	space->keeper_count = count;
}

static void add_sum(struct space_sum *sum, const struct space_sum *more)
{
	sum->used += more->used;
	sum->slack += more->slack;
	sum->blocks += more->blocks;
	sum->pages += more->pages;
	sum->kept_pages += more->kept_pages;
	sum->sparse_pages += more->sparse_pages;
}

struct err *space_count_pages(struct space_job *job)
{
	struct counting counting = {
		.keepers = calloc((size_t)job->query->groups->count + 1, sizeof(*counting.keepers)),
	};
	uint64_t i = 0;

	if (!counting.keepers)
		return err_no_memory();
	for (size_t lane = 0; lane < job->lanes.count; lane++) {
		counting.sum = &job->lanes.items[lane].sum;
		for (; i < job->ends.items[lane]; i++)
			count_block(&counting, &job->blocks[i]);
		close_page(&counting);
		add_sum(&job->space->sum, counting.sum);
	}
	choose_keepers(job->query, counting.keepers, job->space);
	return NULL;
}
