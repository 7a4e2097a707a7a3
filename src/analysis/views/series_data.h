/* The inside of series.h: what its parts share. */
#ifndef MALLOW_ANALYSIS_VIEWS_SERIES_DATA_H
#define MALLOW_ANALYSIS_VIEWS_SERIES_DATA_H

#include "analysis/blocks/block_bits.h"
#include "analysis/facts/facts_curve.h"
#include "analysis/sites/sample_weight.h"
#include "analysis/views/series.h"

/* Fewer blocks than this are not worth a thread. */
#define SERIES_PIECE ((uint64_t)1 << 18)

struct series_job {
	const struct block_columns *blocks;
	const struct series_query *query;
	struct series *series;
	uint64_t sample_mean; /* 0: each block counts once */
	double steps_per_ns;  /* 0: there is one step */
	uint32_t last_step;
	uint32_t *curve_of;    /* for each group: which curve it is in; NULL: its number */
	uint64_t before_bytes; /* live when the span began … */
	uint64_t before_blocks;
	uint64_t first, end; /* blocks that were allocated in the span are among these */
};

/* How many blocks a sampled block stands for. */
static inline uint64_t series_weight(const struct series_job *job, uint64_t block)
{
	return job->sample_mean
		       ? sample_weight(job->sample_mean, job->blocks->size[block], block + 1)
		       : 1;
}

/* When a block ended. Times are rounded: one that ended at once may seem to end before it began. */
static inline uint64_t series_freed(const struct block_columns *blocks, uint64_t i)
{
	uint64_t allocated = blocks->allocated_ns[i], freed = blocks->freed_ns[i];

	return freed > allocated ? freed : allocated;
}

/* The step of a time in the span, sought from another step, which is near by. */
static inline uint32_t series_step_near(const uint64_t *ends, uint32_t step, uint64_t time_ns)
{
	while (ends[step] < time_ns)
		step++;
	while (step && ends[step - 1] >= time_ns)
		step--;
	return step;
}

/* The step of a time in the span. A product guesses it, because dividing is slow. */
static inline uint32_t series_step(const struct series_job *job, const uint64_t *ends,
				   uint64_t time_ns)
{
	uint64_t since = time_ns - job->query->start_ns;
	uint32_t step = (uint32_t)((double)(int64_t)since * job->steps_per_ns);

	return series_step_near(ends, step < job->last_step ? step : job->last_step, time_ns);
}

static inline bool series_has(const struct series_job *job, uint64_t time_ns)
{
	return time_ns >= job->query->start_ns && time_ns <= job->query->end_ns;
}

static inline void series_point_add(struct series_point *sum, const struct series_point *more)
{
	sum->bytes += more->bytes;
	sum->blocks += more->blocks;
	sum->allocated_bytes += more->allocated_bytes;
	sum->allocated_blocks += more->allocated_blocks;
	sum->freed_bytes += more->freed_bytes;
	sum->freed_blocks += more->freed_blocks;
}

/* *ret: a series of zeros, with its steps and so many curves. */
struct err *series_make(const struct series_query *query, uint32_t curves, struct series **ret);

/*
 * Fills a curve, and adds it to that of all: what is live is added up from what begins and ends.
 * before: what began before the first step, and is live then. flows: of each step, `apart` of them
 * apart.
 */
void series_fill_curve(struct series *series, uint32_t curve, const struct curve_flow *before,
		       const struct curve_flow *flows, size_t apart);

/*
 * Fills the points of all curves, slack, and what the job knows of the span's begin and of its
 * blocks.
 */
struct err *series_sum_up(struct series_job *job);

/* Fills `most` and the peak, after series_sum_up(). */
struct err *series_find_peak(struct series_job *job);

#endif
