#include "analysis/views/space.h"

#include <stdlib.h>

#include "analysis/views/space_data.h"
#include "hosted/cleanup.h"

#define CELLS_AUTO 8192

void space_destroy(struct space *space)
{
	if (!space)
		return;
	free(space->lanes);
	free(space->cells);
	free(space->keepers);
	free(space);
}
CLEANUP_DEFINE(struct space *, space_destroy);

size_t space_cut(const struct space_block *block, unsigned int shift, struct space_run ret[5])
{
	uint64_t last = block->end > block->address ? block->end - 1 : block->address;
	uint64_t turn = block->used_end < last ? block->used_end : last;
	uint64_t marks[3] = {block->address >> shift, turn >> shift, last >> shift};
	uint64_t next = marks[0];
	size_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		if (marks[i] < next)
			continue;
		if (marks[i] > next)
			ret[count++] = (struct space_run){.first = next, .count = marks[i] - next};
		ret[count++] = (struct space_run){.first = marks[i], .count = 1};
		next = marks[i] + 1;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t begin = ret[i].first << shift,
			 end = space_behind(begin, UINT64_C(1) << shift);
		uint64_t from = begin > block->address ? begin : block->address;
		uint64_t used_to = end < block->used_end ? end : block->used_end;
		uint64_t to = end < block->end ? end : block->end;

		ret[i].used = used_to > from ? used_to - from : 0;
		ret[i].slack = to > from ? to - from - ret[i].used : 0;
	}
	return count;
}

/* Sets where lanes begin and end, and leaves out those in which nothing matches. */
static void settle_lanes(struct space_job *job)
{
	size_t kept = 0;
	uint64_t first = 0;

	for (size_t i = 0; i < job->lanes.count; i++) {
		struct space_lane lane = job->lanes.items[i];
		uint64_t mask = (UINT64_C(1) << SPACE_PAGE) - 1, last = job->ends.items[i] - 1;

		while (first < last && !job->blocks[first].matches)
			first++;
		lane.start = job->blocks[first].address & ~mask;
		while (last > first && !job->blocks[last].matches)
			last--;
		lane.end = space_behind(job->blocks[last].end > job->blocks[last].address
						? (job->blocks[last].end - 1) & ~mask
						: job->blocks[last].address & ~mask,
					mask + 1);
		first = job->ends.items[i];
		if (lane.sum.blocks)
			job->lanes.items[kept++] = lane;
	}
	job->lanes.count = kept;
}

/* Lists cells of the size asked for, or of the smallest of which there are not too many. */
static struct err *list_cells(struct space_job *job)
{
	static const unsigned int shifts[] = {12, 16, 21};
	enum space_cell_size asked = job->query->cell;
	size_t first = asked ? asked - SPACE_CELL_4K : 0, last = asked ? first : 2;
	bool fits = false;
	struct err *err = NULL;

	for (size_t i = first; !err && !fits && i <= last; i++) {
		bool chosen = i == last;

		job->space->cell = shifts[i];
		err = space_list_cells(job, shifts[i], chosen ? SPACE_CELLS_MAX : CELLS_AUTO,
				       &fits);
	}
	if (!err && !fits)
		err = err_create(
			"there are more than %u cells of that size: choose larger ones, or a "
			"part of the addresses",
			SPACE_CELLS_MAX);
	return err;
}

static struct err *fill(struct space_job *job)
{
	struct err *err = space_count_pages(job);

	if (!err)
		err = list_cells(job);
	if (err)
		return err;
	settle_lanes(job);
	job->space->lane_count = (uint32_t)job->lanes.count;
	job->space->lanes = steal(&job->lanes.items);
	job->space->cell_count = (uint32_t)job->cells.count;
	job->space->cells = steal(&job->cells.items);
	return NULL;
}

struct err *space_create(const struct recording *recording, const struct space_query *query,
			 struct space **ret)
{
	cleanup(space_destroy_at) struct space *space = calloc(1, sizeof(*space));
	struct space_job job = {.recording = recording, .query = query, .space = space};
	struct err *err;

	if (!space)
		return err_no_memory();
	err = space_find_blocks(&job);
	if (!err)
		err = fill(&job);
	spill_deinit(&job.memory);
	free(job.lanes.items);
	free(job.ends.items);
	free(job.cells.items);
	if (!err)
		*ret = steal(&space);
	return err;
}
