/*
 * The most that was live within each step: a walk over the allocations in their order, because
 * times may be equal (live_changes.h). Each piece of the allocations looks at all blocks before it,
 * for what is live at its begin.
 */
#include <stdlib.h>

#include "analysis/blocks/live_changes.h"
#include "analysis/views/series_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

struct peak_piece {
	uint64_t *most;      /* [step]: the most after an allocation in it */
	uint64_t bytes;      /* the most of all … */
	uint32_t peak_block; /* … after this allocation; RECORDING_NONE: none was in the span */
	bool failed;         /* no memory */
};

struct peaking {
	const struct series_job *job;
	uint64_t length; /* allocations of a piece */
	struct peak_piece *pieces;
};

/* Walks over the allocations of the window. *live: bytes before it, and then after it. */
static void walk(const struct series_job *job, const struct live_changes *changes, uint64_t *live,
		 struct peak_piece *ret)
{
	const uint64_t *bits = job->query->bits, *ends = job->series->ends;
	const uint64_t *allocated_ns = job->blocks->allocated_ns;
	struct peak_piece piece = *ret;
	uint32_t step = 0;

	for (uint64_t i = changes->begin; i < changes->stop; i++) {
		*live += changes->changes[i - changes->begin];
		if (!block_bits_has(bits, i) || !series_has(job, allocated_ns[i]))
			continue;
		step = series_step_near(ends, step, allocated_ns[i]);
		if (*live > piece.most[step])
			piece.most[step] = *live;
		if (piece.peak_block == RECORDING_NONE || *live > piece.bytes) {
			piece.bytes = *live;
			piece.peak_block = (uint32_t)i;
		}
	}
	*ret = piece;
}

static struct err *walk_all(const struct series_job *job, struct live_changes *changes,
			    struct peak_piece *piece)
{
	struct err *err = live_changes_begin(changes);
	uint64_t live = changes->live;
	bool more = true;

	while (!err && more) {
		err = live_changes_next(changes, &more);
		if (!err && more)
			walk(job, changes, &live, piece);
	}
	return err;
}

static void find_piece(void *argument, size_t number)
{
	const struct peaking *peaking = argument;
	const struct series_job *job = peaking->job;
	struct peak_piece *piece = &peaking->pieces[number];
	uint64_t first = job->first + number * peaking->length, end = first + peaking->length;
	cleanup(live_changes_deinit) struct live_changes changes = {
		.blocks = job->blocks,
		.bits = job->query->bits,
		.sample_mean = job->sample_mean,
		.first = first,
		.end = end < job->end ? end : job->end,
	};
	struct err *err;

	if (first >= changes.end)
		return;
	err = walk_all(job, &changes, piece);
	piece->failed = err;
	err_destroy(err);
}

struct live_count {
	const struct series_job *job;
	uint64_t peak, length; /* blocks of a piece */
	uint64_t *blocks;      /* of each piece */
};

static void count_piece(void *argument, size_t number)
{
	const struct live_count *live = argument;
	const uint64_t *bits = live->job->query->bits;
	const uint32_t *free_turn = live->job->blocks->free_turn;
	uint64_t begin = number * live->length, end = begin + live->length, count = 0;

	if (end > live->peak + 1)
		end = live->peak + 1;
	for (uint64_t i = block_bits_next(bits, end, begin); i < end;
	     i = block_bits_next(bits, end, i + 1))
		if (free_turn[i] > live->peak)
			count += series_weight(live->job, i);
	live->blocks[number] = count;
}

/* *ret: how many blocks were live after the allocation of `peak`. */
static struct err *count_blocks(const struct series_job *job, uint64_t peak, uint64_t *ret)
{
	size_t count = parallel_pieces(peak + 1, SERIES_PIECE);
	auto_free uint64_t *blocks = calloc(count, sizeof(*blocks));
	struct live_count live = {job, peak, peak / count + 1, blocks};

	if (!blocks)
		return err_no_memory();
	parallel_run(count_piece, &live, count);
	for (size_t i = 0; i < count; i++)
		*ret += blocks[i];
	return NULL;
}

/* *peak: the block whose allocation reached the peak; RECORDING_NONE: none did. */
static void join(const struct peaking *peaking, size_t count, uint32_t *peak)
{
	const struct series_job *job = peaking->job;
	struct series *series = job->series;

	series->peak_ns = job->query->start_ns;
	series->peak_bytes = job->before_bytes;
	series->peak_blocks = job->before_blocks;
	series->peak_thread = series->peak_site = *peak = RECORDING_NONE;
	for (size_t i = 0; i < count; i++) {
		const struct peak_piece *piece = &peaking->pieces[i];

		for (uint32_t step = 0; step < series->steps; step++)
			if (piece->most[step] > series->most[step])
				series->most[step] = piece->most[step];
		if (piece->peak_block == RECORDING_NONE || piece->bytes <= series->peak_bytes)
			continue;
		series->peak_bytes = piece->bytes;
		*peak = piece->peak_block;
	}
}

/* What is live at a step's ends counts for it, too. */
static void include_ends(const struct series_job *job)
{
	struct series *series = job->series;
	uint64_t before = job->before_bytes;

	for (uint32_t step = 0; step < series->steps; step++) {
		uint64_t after = series->all.points[step].bytes,
			 ends = before > after ? before : after;

		if (ends > series->most[step])
			series->most[step] = ends;
		before = after;
	}
}

struct err *series_find_peak(struct series_job *job)
{
	struct series *series = job->series;
	uint32_t steps = series->steps, peak;
	uint64_t allocations = job->end - job->first;
	size_t count = parallel_pieces(allocations, SERIES_PIECE);
	auto_free struct peak_piece *pieces = calloc(count, sizeof(*pieces));
	auto_free uint64_t *most = calloc(count * steps, sizeof(*most));
	struct peaking peaking = {job, allocations / count + 1, pieces};

	if (!pieces || !most)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		pieces[i].most = most + i * steps;
		pieces[i].peak_block = RECORDING_NONE;
	}
	parallel_run(find_piece, &peaking, count);
	for (size_t i = 0; i < count; i++)
		if (pieces[i].failed)
			return err_no_memory();
	join(&peaking, count, &peak);
	include_ends(job);
	if (peak == RECORDING_NONE)
		return NULL;
	series->peak_ns = job->blocks->allocated_ns[peak];
	series->peak_thread = job->blocks->thread[peak];
	series->peak_site = job->blocks->site[peak];
	series->peak_blocks = 0;
	return count_blocks(job, peak, &series->peak_blocks);
}
