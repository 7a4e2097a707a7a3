#include <string.h>

#include "analysis/facts/chain_facts.h"
#include "analysis/facts/facts_cache.h"
#include "analysis/facts/facts_steps.h"
#include "analysis/recording_data.h"
#include "base/first_where.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"

/* What some of the blocks come to. Bytes over time are differences until finish_curves(). */
struct facts_piece {
	struct owned_facts sums;
	struct map chain_of;           /* from a site to its place in sums.chains */
	uint64_t numbers[FACTS_SHARE]; /* of the large blocks */
	bool failed;                   /* no memory */
};

/* Where in the run the block begins and ends: parts, and samples. */
struct facts_life {
	unsigned int part, freed_part; /* FACTS_POINTS: not within the run */
	uint32_t sample, freed_sample;
};

/* The chains of a site. NULL: no memory, and the piece has failed. */
static struct chain_facts *facts_piece_chain(struct facts_piece *piece, uint32_t site)
{
	uint64_t *place = map_put(&piece->chain_of, site);

	if (place && *place == MAP_NONE) {
		*place = piece->sums.chains.count;
		if (!vec_push(&piece->sums.chains, (struct chain_facts){.site = site}))
			place = NULL;
	}
	piece->failed |= !place;
	return place ? &piece->sums.chains.items[*place] : NULL;
}

/* Takes the step of a realloc that ended the block. */
static void add_step(struct facts_piece *piece, const struct facts_input *input, uint64_t i)
{
	const struct block_columns *blocks = input->blocks;
	struct chain_facts *chain = facts_piece_chain(piece, blocks->site[blocks->successor[i]]);

	if (chain)
		chain_facts_add(chain, blocks, i, facts_weight(input, i));
}

/* Samples that are looked at one by one: most blocks end soon. */
#define SAMPLES_NEAR 4

/* The first sample of memory at that time or later, of those from `from` on. */
static uint32_t sample_from(const struct facts_input *input, uint32_t from, uint64_t time_ns)
{
	uint32_t count = input->sampled_count, near = from + SAMPLES_NEAR;

	for (; from < count && from < near; from++)
		if (input->sampled[from] >= time_ns)
			return from;
	return first_where(i, from, count, input->sampled[i] >= time_ns);
}

static void add_life(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
		     const struct facts_life *life, uint64_t bytes)
{
	struct site_facts *site = &piece->sums.sites[input->blocks->site[i]];

	if (life->part != life->freed_part) {
		site->live[life->part] += bytes;
		if (life->freed_part < FACTS_POINTS)
			site->live[life->freed_part] -= bytes;
	}
	if (life->sample != life->freed_sample) {
		piece->sums.sampled_live[life->sample] += bytes;
		piece->sums.sampled_live[life->freed_sample] -= bytes;
	}
}

static void add_kept(struct site_facts *site, const struct facts_input *input, uint64_t i,
		     unsigned int part, uint64_t weight)
{
	uint64_t bytes = input->blocks->size[i] * weight;

	site->kept[part] += bytes;
	if (input->blocks->allocated_ns[i] > input->late_ns) {
		site->late_bytes += bytes;
		site->late_blocks += weight;
	}
}

static void add_at_peak(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
			uint64_t weight)
{
	const struct block_columns *blocks = input->blocks;
	struct run_facts *facts = &piece->sums.facts;

	piece->sums.sites[blocks->site[i]].peak_slack += blocks->slack[i] * weight;
	if (blocks->size[i] < input->large || facts->large_count == FACTS_SHARE)
		return;
	piece->numbers[facts->large_count] = i;
	facts->large[facts->large_count++] = (struct large_block){
		.site = blocks->site[i],
		.size = blocks->size[i],
		.allocated_ns = blocks->allocated_ns[i],
		.freed_ns = blocks->freed_ns[i],
	};
}

static void add_handed(struct facts_piece *piece, const struct block_columns *blocks, uint64_t i,
		       uint64_t weight)
{
	struct site_facts *site = &piece->sums.sites[blocks->site[i]];
	struct thread_facts *thread = &piece->sums.threads[blocks->free_thread[i]];

	site->handed_bytes += blocks->size[i] * weight;
	site->handed_blocks += weight;
	thread->handed_bytes += blocks->size[i] * weight;
	thread->handed_blocks += weight;
}

/* Adds a block. life: of the block before it in this piece; zeroed for the first. */
static void facts_piece_add(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
			    struct facts_life *life)
{
	const struct block_columns *blocks = input->blocks;
	uint64_t weight = facts_weight(input, i), freed = blocks->freed_ns[i];

	while (life->part < FACTS_POINTS - 1 && blocks->allocated_ns[i] > input->ends[life->part])
		life->part++;
	for (life->freed_part = life->part;
	     life->freed_part < FACTS_POINTS && freed > input->ends[life->freed_part];)
		life->freed_part++;
	life->sample = sample_from(input, life->sample, blocks->allocated_ns[i]);
	life->freed_sample = sample_from(input, life->sample, freed);
	add_life(piece, input, i, life, blocks->size[i] * weight);
	if (freed == TIME_NEVER)
		add_kept(&piece->sums.sites[blocks->site[i]], input, i, life->part, weight);
	if (facts_at_peak(input, i))
		add_at_peak(piece, input, i, weight);
	if (blocks->free_thread[i] != RECORDING_NONE && blocks->free_thread[i] != blocks->thread[i])
		add_handed(piece, blocks, i, weight);
	if (blocks->successor[i] != RECORDING_NONE)
		add_step(piece, input, i);
}

/* Fewer blocks than this are not worth a thread, and the sums that it fills. */
#define PIECE_MIN      ((uint64_t)1 << 18)
#define PIECE_MIN_SITE 64 /* nor are fewer for each site */

/* At the end of a part of less than this share of the peak, pages tell nothing. */
#define PAGES_SHARE 50

struct summing {
	struct facts_input input;
	const struct recording *recording;
	struct facts_piece *pieces;
	size_t piece_count;
	uint64_t length; /* blocks of a piece */
	uint64_t *sampled;
};

static void summing_deinit(struct summing *summing)
{
	for (size_t i = 0; summing->pieces && i < summing->piece_count; i++) {
		owned_facts_deinit(&summing->pieces[i].sums);
		map_deinit(&summing->pieces[i].chain_of);
	}
	free(summing->pieces);
	free(summing->sampled);
}

static void add_piece(void *argument, size_t number)
{
	const struct summing *summing = argument;
	struct facts_piece *piece = &summing->pieces[number];
	uint64_t begin = number * summing->length, end = begin + summing->length;
	struct facts_life life = {0};

	if (end > summing->input.blocks->count)
		end = summing->input.blocks->count;
	for (uint64_t i = begin; i < end && !piece->failed; i++)
		facts_piece_add(piece, &summing->input, i, &life);
}

static bool join_chains(struct facts_piece *piece, const struct facts_piece *later)
{
	for (size_t i = 0; i < later->sums.chains.count; i++) {
		const struct chain_facts *more = &later->sums.chains.items[i];
		struct chain_facts *chain = facts_piece_chain(piece, more->site);

		if (!chain)
			return false;
		chain->steps += more->steps;
		chain->copied += more->copied;
		for (int j = 0; j < 64; j++)
			chain->ends[j] += more->ends[j];
	}
	return true;
}

/* Adds arrays of 64-bit numbers. */
static void join_numbers(void *to, const void *from, size_t size)
{
	uint64_t *sums = to;
	const uint64_t *more = from;

	for (size_t i = 0; i < size / sizeof(*sums); i++)
		sums[i] += more[i];
}

static bool join(struct facts_piece *piece, const struct facts_piece *later,
		 const struct recording *recording)
{
	struct run_facts *facts = &piece->sums.facts;
	const struct run_facts *more = &later->sums.facts;

	join_numbers(piece->sums.sites, later->sums.sites,
		     recording->sites.sites.count * sizeof(struct site_facts));
	join_numbers(piece->sums.threads, later->sums.threads,
		     recording->tables->threads.count * sizeof(struct thread_facts));
	join_numbers(piece->sums.sampled_live, later->sums.sampled_live,
		     (recording->tables->memory.count + 1) * sizeof(uint64_t));
	for (uint32_t i = 0; i < more->large_count && facts->large_count < FACTS_SHARE; i++) {
		piece->numbers[facts->large_count] = later->numbers[i];
		facts->large[facts->large_count++] = more->large[i];
	}
	return !later->failed && join_chains(piece, later);
}

/* The first piece gets all. */
static struct err *run_pieces(struct summing *summing)
{
	struct facts_piece *first = &summing->pieces[0];
	bool done;

	parallel_run(add_piece, summing, summing->piece_count);
	done = !first->failed;
	for (size_t i = 1; done && i < summing->piece_count; i++)
		done = join(first, &summing->pieces[i], summing->recording);
	return done ? NULL : err_no_memory();
}

static struct err *prepare(struct summing *summing)
{
	const struct recording *recording = summing->recording;
	struct facts_input *input = &summing->input;
	struct err *err = NULL;
	uint64_t fewest;

	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		input->ends[i] = facts_point_ns(recording->facts.duration_ns, i);
	input->late_ns = recording->facts.duration_ns - recording->facts.duration_ns / FACTS_LATE;
	input->large = recording->summary.peak_bytes / FACTS_SHARE +
		       (recording->summary.peak_bytes % FACTS_SHARE != 0);
	summing->sampled =
		malloc((recording->tables->memory.count + 1) * sizeof(*summing->sampled));
	fewest = recording->sites.sites.count * PIECE_MIN_SITE;
	summing->piece_count =
		parallel_pieces(input->blocks->count, fewest > PIECE_MIN ? fewest : PIECE_MIN);
	summing->length = input->blocks->count / summing->piece_count + 1;
	summing->pieces = calloc(summing->piece_count, sizeof(*summing->pieces));
	if (!summing->sampled || !summing->pieces)
		return err_no_memory();
	for (size_t i = 0; i < recording->tables->memory.count; i++)
		summing->sampled[i] = recording->tables->memory.items[i].time_ns;
	input->sampled = summing->sampled;
	input->sampled_count = (uint32_t)recording->tables->memory.count;
	for (size_t i = 0; !err && i < summing->piece_count; i++)
		err = owned_facts_reserve(recording, &summing->pieces[i].sums);
	return err ? err : facts_peak_find(recording, input);
}

/* Makes sums of the differences. */
static void finish_curves(const struct recording *recording, struct owned_facts *owned)
{
	for (size_t i = 0; i < recording->sites.sites.count; i++)
		for (int j = 1; j < FACTS_POINTS; j++)
			owned->sites[i].live[j] += owned->sites[i].live[j - 1];
	for (size_t i = 1; i < recording->tables->memory.count; i++)
		owned->sampled_live[i] += owned->sampled_live[i - 1];
}

static void sort_large(struct facts_piece *piece)
{
	struct run_facts *facts = &piece->sums.facts;

	for (uint32_t i = 1; i < facts->large_count; i++)
		for (uint32_t j = i; j && facts->large[j].size > facts->large[j - 1].size; j--) {
			struct large_block block = facts->large[j];
			uint64_t number = piece->numbers[j];

			facts->large[j] = facts->large[j - 1];
			facts->large[j - 1] = block;
			piece->numbers[j] = piece->numbers[j - 1];
			piece->numbers[j - 1] = number;
		}
}

/*
 * The last end of a part at which enough was live, but not the run's own: at its end a program may
 * have freed all but a few blocks, and that no longer matters. false: there is none.
 */
static bool find_page_moment(const struct recording *recording, const struct owned_facts *owned,
			     struct page_facts *ret)
{
	for (unsigned int part = FACTS_POINTS - 1; part-- > 0;) {
		uint64_t live = 0;

		for (size_t i = 0; i < recording->sites.sites.count; i++)
			live += owned->sites[i].live[part];
		if (live && live >= recording->summary.peak_bytes / PAGES_SHARE) {
			ret->at_ns = facts_point_ns(recording->facts.duration_ns, part);
			return true;
		}
	}
	return false;
}

static void take_errors(const struct recording *recording, struct error_facts *ret)
{
	const struct heap_errors *errors = &recording->blocks->heap_errors;

	ret->known = errors->wanted;
	ret->places = errors->errors.count;
	for (size_t i = 0; i < errors->errors.count; i++)
		ret->frees += errors->errors.items[i].count;
	for (size_t i = 0; i < errors->errors.count && ret->stack == RECORDING_NONE; i++) {
		const struct heap_error *error = &errors->errors.items[i];

		ret->stack = error->freed;
		if (ret->stack == RECORDING_NONE && error->entry)
			ret->stack = error->allocated;
	}
}

static int by_site(const void *left, const void *right)
{
	const struct chain_facts *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

/* What is left to do when all blocks are summed up. */
static struct err *complete(struct summing *summing)
{
	const struct recording *recording = summing->recording;
	const struct facts_input *input = &summing->input;
	struct facts_piece *piece = &summing->pieces[0];
	struct run_facts *facts = &piece->sums.facts;
	struct err *err = NULL;

	finish_curves(recording, &piece->sums);
	if (piece->sums.chains.count)
		qsort(piece->sums.chains.items, piece->sums.chains.count,
		      sizeof(*piece->sums.chains.items), by_site);
	if (input->peak != UINT64_MAX) {
		facts->peak_site = input->blocks->site[input->peak];
		facts->peak_thread = input->blocks->thread[input->peak];
	}
	take_errors(recording, &facts->errors);
	sort_large(piece);
	if (facts->large_count)
		err = facts_peak_without(input, piece->numbers, facts->large, facts->large_count);
	if (!err && find_page_moment(recording, &piece->sums, &facts->pages))
		err = facts_pages_find(input->blocks, &facts->pages, piece->sums.sites);
	return err;
}

struct err *facts_make(const struct recording *recording, struct owned_facts *ret)
{
	cleanup(summing_deinit) struct summing summing = {
		.recording = recording,
		.input = {.blocks = &recording->blocks->store.columns,
			  .sample_mean = recording->facts.sample_mean},
	};
	struct err *err = prepare(&summing);

	if (!err)
		err = run_pieces(&summing);
	if (!err)
		err = complete(&summing);
	if (err)
		return err;
	*ret = summing.pieces[0].sums;
	summing.pieces[0].sums = (struct owned_facts){0};
	return NULL;
}
