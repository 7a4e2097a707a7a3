/* One pass over the blocks: what begins and ends in each step, for each curve. */
#include <stdlib.h>

#include "analysis/views/series_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* What a piece of the blocks comes to. */
struct piece {
	struct curve_flow *flows; /* [step * curves + curve] */
	struct curve_flow
		*before; /* of each curve: what began before the span, and ended in it or later */
	uint64_t *slack; /* [step]: the change; [steps]: before. Modulo 2^64 */
	uint64_t first, end; /* blocks allocated in the span are among these */
};

struct summing {
	struct series_job *job;
	uint32_t curves;
	uint64_t length; /* blocks of a piece, words of bits as a whole */
	struct piece *pieces;
};

/* What add_block() needs again and again: a copy for each piece, so that it stays in registers. */
struct adding {
	struct series_job job;
	struct series_query query;
	struct piece piece;
	const uint64_t *ends;
	uint32_t curves;
	uint32_t step; /* that of the latest allocation */
};

static inline void add_block(struct adding *adding, const struct block_columns *blocks, uint64_t i)
{
	uint64_t allocated = blocks->allocated_ns[i], freed = series_freed(blocks, i);
	uint64_t weight, bytes, slack, start = adding->query.start_ns, end = adding->query.end_ns;
	struct piece *piece = &adding->piece;
	uint32_t curve, step;
	struct curve_flow *flow;

	if (allocated > end || freed < start)
		return;
	curve = block_groups_of(adding->query.groups, blocks, i);
	if (adding->job.curve_of)
		curve = adding->job.curve_of[curve];
	weight = series_weight(&adding->job, i);
	bytes = weight * blocks->size[i];
	slack = weight * blocks->slack[i];
	if (allocated < start) {
		flow = &piece->before[curve];
		step = adding->job.last_step + 1;
	} else {
		// Blocks are in order of their allocation.
		step = adding->step = series_step_near(adding->ends, adding->step, allocated);
		flow = &piece->flows[(size_t)step * adding->curves + curve];
		if (!piece->end)
			piece->first = i;
		piece->end = i + 1;
	}
	curve_flow_begin(flow, bytes, weight);
	piece->slack[step] += slack;
	if (freed > end)
		return;
	// Mostly a block ends in the step in which it began.
	if (allocated < start || freed > adding->ends[step]) {
		step = series_step(&adding->job, adding->ends, freed);
		flow = &piece->flows[(size_t)step * adding->curves + curve];
	}
	curve_flow_end(flow, bytes, weight);
	piece->slack[step] -= slack;
}

static void add_piece(void *argument, size_t number)
{
	const struct summing *summing = argument;
	const struct block_columns blocks = *summing->job->blocks;
	const uint64_t *bits = summing->job->query->bits;
	struct adding adding = {
		.job = *summing->job,
		.query = *summing->job->query,
		.piece = summing->pieces[number],
		.ends = summing->job->series->ends,
		.curves = summing->curves,
	};
	uint64_t begin = number * summing->length, end = begin + summing->length;

	adding.job.blocks = &blocks;
	if (end > blocks.count)
		end = blocks.count;
	for (uint64_t i = block_bits_next(bits, end, begin); i < end;
	     i = block_bits_next(bits, end, i + 1))
		add_block(&adding, &blocks, i);
	summing->pieces[number] = adding.piece;
}

/* Adds a piece to the first one, before which it does not come. */
static void join(const struct summing *summing, const struct piece *later)
{
	struct piece *first = &summing->pieces[0];
	uint32_t steps = summing->job->series->steps, curves = summing->curves;

	for (size_t i = 0; i < (size_t)steps * curves; i++)
		curve_flow_add(&first->flows[i], &later->flows[i]);
	for (size_t i = 0; i < curves; i++)
		curve_flow_add(&first->before[i], &later->before[i]);
	for (size_t i = 0; i <= steps; i++)
		first->slack[i] += later->slack[i];
	if (later->end && !first->end)
		first->first = later->first;
	if (later->end)
		first->end = later->end;
}

static void fill_curve(const struct summing *summing, uint32_t curve)
{
	const struct piece *piece = &summing->pieces[0];

	summing->job->before_bytes += piece->before[curve].allocated_bytes;
	summing->job->before_blocks += piece->before[curve].allocated_blocks;
	series_fill_curve(summing->job->series, curve, &piece->before[curve], &piece->flows[curve],
			  summing->curves);
}

static void fill_slack(const struct summing *summing)
{
	const uint64_t *changes = summing->pieces[0].slack;
	struct series *series = summing->job->series;
	uint64_t slack = changes[series->steps];

	for (uint32_t step = 0; step < series->steps; step++)
		series->slack[step] = slack += changes[step];
}

struct err *series_sum_up(struct series_job *job)
{
	struct series *series = job->series;
	size_t count = parallel_pieces(job->blocks->count, SERIES_PIECE);
	size_t curves = series->curve_count, cells = series->steps * curves;
	auto_free struct piece *pieces = calloc(count, sizeof(*pieces));
	auto_free struct curve_flow *flows = calloc(count * (cells + curves) + 1, sizeof(*flows));
	auto_free uint64_t *slack = calloc(count * (series->steps + 1u), sizeof(*slack));
	struct summing summing = {
		.job = job,
		.curves = (uint32_t)curves,
		.length = (job->blocks->count / count / 64 + 1) * 64,
		.pieces = pieces,
	};

	if (!pieces || !flows || !slack)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		pieces[i].flows = flows + i * (cells + curves);
		pieces[i].before = pieces[i].flows + cells;
		pieces[i].slack = slack + i * (series->steps + 1u);
	}
	parallel_run(add_piece, &summing, count);
	for (size_t i = 1; i < count; i++)
		join(&summing, &pieces[i]);
	for (uint32_t curve = 0; curve < curves; curve++)
		fill_curve(&summing, curve);
	fill_slack(&summing);
	job->first = pieces[0].first;
	job->end = pieces[0].end;
	return NULL;
}
