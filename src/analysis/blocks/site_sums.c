#include "analysis/blocks/site_sums.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_cache.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"

/* Threads of which a site notes in one word whether it saw them. The others are looked up. */
#define THREADS_IN_WORD 64

/* Fewer blocks than this are not worth a thread, and the sums that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* What a piece of the blocks has come to, for each site. */
struct piece {
	struct site_sums *sums;
	uint64_t *seen;    /* threads below THREADS_IN_WORD; NULL: threads are not counted */
	struct map others; /* all other threads, by site and thread */
	bool failed;       /* no memory */
};

struct summing {
	const struct block_columns *blocks;
	const uint64_t *bits; /* NULL: all */
	uint64_t sample_mean; /* 0: each block counts once */
	uint32_t sites;
	bool with_threads;
	uint64_t length; /* blocks of a piece, words of bits as a whole */
	struct piece *pieces;
};

static void note_thread(struct piece *piece, uint32_t site, uint32_t thread)
{
	uint64_t *place;

	if (thread < THREADS_IN_WORD) {
		piece->seen[site] |= 1ull << thread;
		return;
	}
	place = map_put(&piece->others, (uint64_t)site << 32 | thread);
	if (place)
		*place = 0;
	piece->failed |= !place;
}

static void add_lives(struct site_span *span, uint64_t life)
{
	if (__builtin_add_overflow(span->lives_ns, life, &span->lives_ns))
		span->lives_ns = UINT64_MAX;
}

static void note_life(struct site_span *span, uint64_t allocated, uint64_t freed)
{
	uint64_t life = freed > allocated ? freed - allocated : 0;

	if (freed == TIME_NEVER)
		return;
	span->freed++;
	if (life > span->longest_life_ns)
		span->longest_life_ns = life;
	add_lives(span, life);
}

static void add(struct site_sums *sums, const struct block_columns *blocks, uint64_t i,
		uint64_t weight)
{
	struct site_span *span = &sums->span;
	uint64_t size = blocks->size[i];

	// Rows are in the order of allocation: the first one met is the first one.
	if (!span->blocks++) {
		sums->first = i;
		span->first_ns = blocks->allocated_ns[i];
		span->smallest = size;
	}
	span->last_ns = blocks->allocated_ns[i];
	if (size < span->smallest)
		span->smallest = size;
	if (size > span->largest)
		span->largest = size;
	note_life(span, blocks->allocated_ns[i], blocks->freed_ns[i]);
	sums->calls += weight;
	sums->leaked += weight * (blocks->freed_ns[i] == TIME_NEVER);
	sums->size += weight * size;
}

static void add_piece(void *argument, size_t number)
{
	const struct summing *summing = argument;
	const struct block_columns *blocks = summing->blocks;
	struct piece *piece = &summing->pieces[number];
	uint64_t begin = number * summing->length, end = begin + summing->length;
	uint64_t mean = summing->sample_mean;

	if (end > blocks->count)
		end = blocks->count;
	for (uint64_t i = block_bits_next(summing->bits, end, begin); i < end && !piece->failed;
	     i = block_bits_next(summing->bits, end, i + 1)) {
		add(&piece->sums[blocks->site[i]], blocks, i,
		    mean ? sample_weight(mean, blocks->size[i], i + 1) : 1);
		if (piece->seen)
			note_thread(piece, blocks->site[i], blocks->thread[i]);
	}
}

/* What comes later in the recording. */
static void join_sums(struct site_sums *sums, const struct site_sums *later)
{
	struct site_span *span = &sums->span;
	const struct site_span *more = &later->span;

	if (!more->blocks)
		return;
	if (!span->blocks) {
		*sums = *later;
		return;
	}
	sums->calls += later->calls;
	sums->leaked += later->leaked;
	sums->size += later->size;
	span->blocks += more->blocks;
	span->last_ns = more->last_ns;
	if (more->smallest < span->smallest)
		span->smallest = more->smallest;
	if (more->largest > span->largest)
		span->largest = more->largest;
	span->freed += more->freed;
	if (more->longest_life_ns > span->longest_life_ns)
		span->longest_life_ns = more->longest_life_ns;
	add_lives(span, more->lives_ns);
}

static bool join_threads(struct piece *piece, const struct piece *later, uint32_t sites)
{
	for (uint32_t i = 0; piece->seen && i < sites; i++)
		piece->seen[i] |= later->seen[i];
	for (size_t i = 0; i < map_size(&later->others); i++) {
		const struct map_entry *entry = &later->others.entries[i];
		uint64_t *place;

		if (entry->value == MAP_NONE)
			continue;
		place = map_put(&piece->others, entry->key);
		if (!place)
			return false;
		*place = 0;
	}
	return true;
}

static bool join(struct piece *piece, const struct piece *later, uint32_t sites)
{
	for (uint32_t i = 0; i < sites; i++)
		join_sums(&piece->sums[i], &later->sums[i]);
	return !later->failed && join_threads(piece, later, sites);
}

static void count_threads(const struct piece *piece, uint32_t sites)
{
	for (uint32_t i = 0; piece->seen && i < sites; i++)
		piece->sums[i].span.threads = (uint64_t)__builtin_popcountll(piece->seen[i]);
	for (size_t i = 0; i < map_size(&piece->others); i++)
		if (piece->others.entries[i].value != MAP_NONE)
			piece->sums[piece->others.entries[i].key >> 32].span.threads++;
}

/* The first piece's sums are what is returned. */
static bool sum_pieces(struct summing *summing, size_t count)
{
	struct piece *first = &summing->pieces[0];
	bool done;

	parallel_run(add_piece, summing, count);
	done = !first->failed;
	for (size_t i = 1; done && i < count; i++)
		done = join(first, &summing->pieces[i], summing->sites);
	if (done)
		count_threads(first, summing->sites);
	for (size_t i = 0; i < count; i++)
		map_deinit(&summing->pieces[i].others);
	return done;
}

/* *ret: as of site_sums_create(). The pieces are made here. */
static struct err *sum_up(struct summing *summing, struct site_sums **ret)
{
	size_t count = parallel_pieces(summing->blocks->count, PIECE_MIN), sites = summing->sites;
	auto_free struct piece *pieces = calloc(count, sizeof(*pieces));
	auto_free struct site_sums *sums = calloc(count * sites + 1, sizeof(*sums));
	auto_free uint64_t *seen = NULL;

	if (summing->with_threads)
		seen = calloc(count * sites + 1, sizeof(*seen));
	if (!pieces || !sums || (summing->with_threads && !seen))
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		pieces[i].sums = sums + i * sites;
		pieces[i].seen = seen ? seen + i * sites : NULL;
	}
	summing->pieces = pieces;
	summing->length = (summing->blocks->count / count / 64 + 1) * 64;
	if (!sum_pieces(summing, count))
		return err_no_memory();
	*ret = steal(&sums);
	return NULL;
}

struct err *site_sums_spans(const struct block_columns *blocks, uint32_t site_count,
			    struct site_span *ret)
{
	struct summing summing = {.blocks = blocks, .sites = site_count, .with_threads = true};
	auto_free struct site_sums *sums = NULL;
	struct err *err = sum_up(&summing, &sums);

	if (err)
		return err;
	for (uint32_t i = 0; i < site_count; i++)
		ret[i] = sums[i].span;
	return NULL;
}

static struct err *make_spans(const struct recording *recording, struct block_cache *cache)
{
	size_t count = recording->sites.sites.count;
	struct err *err;

	if (!spill_grow(&cache->span_memory, count * sizeof(struct site_span)))
		return err_no_memory();
	err = site_sums_spans(&recording->blocks->store.columns, (uint32_t)count,
			      cache->span_memory.data);
	if (!err)
		cache->spans = cache->span_memory.data;
	return err;
}

struct err *recording_site_spans(const struct recording *recording, const struct site_span **ret)
{
	struct block_cache *cache = recording->blocks->cache;
	struct err *err = NULL;

	*ret = NULL;
	if (!cache || !recording->sites.sites.count)
		return NULL;
	pthread_mutex_lock(&cache->lock);
	if (!cache->spans)
		err = make_spans(recording, cache);
	if (!err)
		*ret = cache->spans;
	pthread_mutex_unlock(&cache->lock);
	return err;
}

/* Sums of all blocks: the site table has most of them already. Culled blocks are in no column. */
static struct err *sums_of_all(const struct recording *recording, struct site_sums **ret)
{
	size_t count = recording->sites.sites.count;
	const struct site *sites = recording->sites.sites.items;
	const struct site_span *spans;
	struct err *err = recording_site_spans(recording, &spans);
	struct site_sums *sums;

	if (err)
		return err;
	sums = calloc(count + 1, sizeof(*sums));
	if (!sums)
		return err_no_memory();
	for (size_t i = 0; i < count; i++)
		sums[i] = (struct site_sums){
			.calls = sites[i].calls,
			.leaked = sites[i].leaked_blocks,
			.size = sites[i].total_bytes,
			.first = i,
			.span = spans[i],
		};
	*ret = sums;
	return NULL;
}

struct err *site_sums_create(const struct recording *recording, const uint64_t *bits,
			     struct site_sums **ret)
{
	struct summing summing = {
		.blocks = &recording->blocks->store.columns,
		.bits = bits,
		.sample_mean = recording->facts.sample_mean,
		.sites = (uint32_t)recording->sites.sites.count,
	};

	return bits ? sum_up(&summing, ret) : sums_of_all(recording, ret);
}
