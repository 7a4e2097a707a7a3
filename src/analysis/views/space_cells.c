/* Lists the cells that matching blocks lie in. */
#include <stdlib.h>

#include "analysis/views/space_data.h"
#include "hosted/cleanup.h"

struct listing {
	struct space_job *job;
	unsigned int shift;
	uint64_t first, last; /* the cells that are listed */
	bool open;
	struct space_cell cell; /* that of the latest block: the next one may lie in it, too */
	uint64_t next_page;     /* pages below are counted, or before all blocks */
	uint64_t *used_by;      /* for each site: what it uses of the cell */
	VEC(uint32_t) sites;    /* of the cell, those that were met first come first */
};

static void listing_deinit(struct listing *listing)
{
	free(listing->used_by);
	vec_deinit(&listing->sites);
}

/* Lists cells, those in the range. */
static bool list(struct listing *listing, struct space_cell cell)
{
	uint64_t last = cell.first + cell.count - 1;

	if (cell.first > listing->last || last < listing->first)
		return true;
	if (cell.first < listing->first)
		cell.first = listing->first;
	if (last > listing->last)
		last = listing->last;
	cell.count = last - cell.first + 1;
	return vec_push(&listing->job->cells, cell);
}

static bool close_cell(struct listing *listing)
{
	uint32_t most = RECORDING_NONE;

	if (!listing->open)
		return true;
	for (size_t i = 0; i < listing->sites.count; i++) {
		uint32_t site = listing->sites.items[i];

		if (most == RECORDING_NONE || listing->used_by[site] > listing->used_by[most])
			most = site;
	}
	for (size_t i = 0; i < listing->sites.count; i++)
		listing->used_by[listing->sites.items[i]] = 0;
	listing->sites.count = 0;
	listing->open = false;
	listing->cell.site = most;
	return list(listing, listing->cell);
}

/* How many pages of the cells the block lies in that no block before it lies in. */
static uint64_t new_pages(struct listing *listing, const struct space_block *block,
			  const struct space_run *run)
{
	uint64_t last_cell = run->first + run->count - 1;
	uint64_t begin = run->first << listing->shift;
	uint64_t end = (last_cell << listing->shift) | ((UINT64_C(1) << listing->shift) - 1);
	uint64_t last = block->end > block->address ? block->end - 1 : block->address;
	uint64_t page = (begin > block->address ? begin : block->address) >> SPACE_PAGE;

	last = (last < end ? last : end) >> SPACE_PAGE;
	if (page < listing->next_page)
		page = listing->next_page;
	if (page > last)
		return 0;
	listing->next_page = last + 1;
	return last - page + 1;
}

static bool add_to_cell(struct listing *listing, const struct space_block *block,
			const struct space_run *run)
{
	struct space_cell *cell = &listing->cell;
	size_t met = 0;

	if (!listing->open)
		*cell = (struct space_cell){
			.first = run->first, .count = 1, .oldest_ns = block->allocated_ns};
	listing->open = true;
	cell->used += run->used;
	cell->slack += run->slack;
	cell->never_freed += block->never_freed ? run->used : 0;
	cell->pages += new_pages(listing, block, run);
	cell->blocks++;
	if (block->allocated_ns < cell->oldest_ns)
		cell->oldest_ns = block->allocated_ns;
	// Neighbours are often of one site. A site that is listed twice does no harm.
	if (listing->sites.count)
		met = listing->sites.items[listing->sites.count - 1] == block->site;
	if (!met && !listing->used_by[block->site] && !vec_push(&listing->sites, block->site))
		return false;
	listing->used_by[block->site] += run->used;
	return true;
}

static bool add_block(struct listing *listing, const struct space_block *block)
{
	struct space_run runs[5];
	size_t count = space_cut(block, listing->shift, runs);

	for (size_t i = 0; i < count; i++) {
		const struct space_run *run = &runs[i];

		if (listing->open && listing->cell.first != run->first && !close_cell(listing))
			return false;
		if (run->count == 1) {
			if (!add_to_cell(listing, block, run))
				return false;
			continue;
		}
		new_pages(listing, block, run);
		if (!list(listing, (struct space_cell){
					   .first = run->first,
					   .count = run->count,
					   .used = run->used,
					   .slack = run->slack,
					   .never_freed = block->never_freed ? run->used : 0,
					   .pages = UINT64_C(1) << (listing->shift - SPACE_PAGE),
					   .blocks = 1,
					   .oldest_ns = block->allocated_ns,
					   .site = block->site,
				   }))
			return false;
	}
	return true;
}

static bool list_lane(struct listing *listing, uint64_t i, uint64_t end, uint32_t most)
{
	listing->next_page = 0;
	for (; i < end && listing->job->cells.count <= most; i++)
		if (listing->job->blocks[i].matches &&
		    !add_block(listing, &listing->job->blocks[i]))
			return false;
	return close_cell(listing);
}

struct err *space_list_cells(struct space_job *job, unsigned int shift, uint32_t most, bool *fits)
{
	uint32_t sites;
	cleanup(listing_deinit) struct listing listing = {
		.job = job,
		.shift = shift,
		.first = job->query->start >> shift,
		.last = (job->query->end - 1) >> shift,
	};
	uint64_t first = 0;

	recording_sites(job->recording, &sites);
	listing.used_by = calloc((size_t)sites + 1, sizeof(*listing.used_by));
	if (!listing.used_by)
		return err_no_memory();
	job->cells.count = 0;
	for (size_t i = 0; i < job->lanes.count; i++) {
		struct space_lane *lane = &job->lanes.items[i];

		lane->first_cell = (uint32_t)job->cells.count;
		if (!list_lane(&listing, first, job->ends.items[i], most))
			return err_no_memory();
		lane->cells = (uint32_t)job->cells.count - lane->first_cell;
		first = job->ends.items[i];
	}
	*fits = job->cells.count <= most;
	return NULL;
}
