#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sums/sums_data.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

void sums_cells_deinit(struct sums_cells *cells)
{
	free(cells->words);
	*cells = (struct sums_cells){0};
}

struct marking {
	const struct sums_job *job;
	uint64_t length; /* blocks of a piece */
};

/* Threads write the same words, but mostly a bit is set already. */
static void mark(const struct sums_job *job, uint32_t first, uint32_t second)
{
	uint64_t pair = (uint64_t)first * job->query->second->count + second;
	uint64_t *bits = &job->cells.words[pair / 64].bits, bit = UINT64_C(1) << pair % 64;

	if (!(__atomic_load_n(bits, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
}

static void mark_piece(void *argument, size_t number)
{
	const struct marking *marking = argument;
	const struct sums_job *job = marking->job;
	const struct block_columns *blocks = job->blocks;
	const struct sums_query *query = job->query;
	uint64_t begin = number * marking->length, end = begin + marking->length;

	if (end > blocks->count)
		end = blocks->count;
	for (uint64_t i = block_bits_next(query->bits, end, begin); i < end;
	     i = block_bits_next(query->bits, end, i + 1))
		mark(job, block_groups_of(query->first, blocks, i),
		     block_groups_of(query->second, blocks, i));
}

/* A site may have allocations without blocks: those that CULL only counted. */
static void mark_sites(const struct sums_job *job)
{
	const struct sums_query *query = job->query;
	uint32_t count;

	recording_sites(job->recording, &count);
	for (uint32_t i = 0; i < count; i++)
		mark(job, block_groups_of_site(query->first, i),
		     block_groups_of_site(query->second, i));
}

struct err *sums_cells_find(struct sums_job *job)
{
	const struct sums_query *query = job->query;
	size_t count = parallel_pieces(job->blocks->count, PIECE_MIN);
	struct marking marking = {job, (job->blocks->count / count / 64 + 1) * 64};
	uint64_t pairs, before = 0;

	job->rows = query->first->count;
	if (!query->second)
		return NULL;
	pairs = (uint64_t)query->first->count * query->second->count;
	if (pairs > SUMS_PAIRS_MAX)
		return err_create("%u keys and %u keys make too many pairs, more than %ju: take "
				  "others",
				  query->first->count, query->second->count,
				  (uintmax_t)SUMS_PAIRS_MAX);
	job->cells.word_count = pairs / 64 + 1;
	job->cells.words = calloc(job->cells.word_count, sizeof(*job->cells.words));
	if (!job->cells.words)
		return err_no_memory();
	parallel_run(mark_piece, &marking, count);
	if (!query->bits && block_groups_of_sites(query->first) &&
	    block_groups_of_sites(query->second))
		mark_sites(job);
	for (uint64_t i = 0; i < job->cells.word_count; i++) {
		job->cells.words[i].before = before;
		before += (uint64_t)__builtin_popcountll(job->cells.words[i].bits);
	}
	job->rows = (uint32_t)before;
	return NULL;
}

void sums_cells_name(const struct sums_job *job, struct sums_row *rows)
{
	uint32_t number = 0;

	for (; !job->cells.words && number < job->rows; number++) {
		rows[number].first = number;
		rows[number].second = RECORDING_NONE;
	}
	for (uint64_t i = 0; i < job->cells.word_count; i++) {
		for (uint64_t bits = job->cells.words[i].bits; bits; bits &= bits - 1) {
			uint64_t pair = i * 64 + (uint64_t)__builtin_ctzll(bits);
			uint32_t count = job->query->second->count;

			rows[number].first = (uint32_t)(pair / count);
			rows[number++].second = (uint32_t)(pair % count);
		}
	}
}
