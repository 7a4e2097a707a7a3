#include "analysis/blocks/site_spans.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"

/* Threads of which a site notes in one word whether it saw them. The others are looked up. */
#define THREADS_IN_WORD 64

/* Fewer blocks than this are not worth a thread, and the spans that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* What a piece of the blocks has come to, for each site. */
struct piece {
	struct site_span *spans;
	uint64_t *seen;    /* threads below THREADS_IN_WORD */
	struct map others; /* all other threads, by site and thread */
	bool failed;       /* no memory */
};

struct spanning {
	const struct block_columns *blocks;
	uint32_t sites;
	uint64_t piece; /* blocks of each */
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

static void add(struct piece *piece, const struct block_columns *blocks, uint64_t i)
{
	struct site_span *span = &piece->spans[blocks->site[i]];
	uint64_t size = blocks->size[i];

	if (!span->blocks++) {
		span->first_ns = blocks->allocated_ns[i];
		span->smallest = size;
	}
	span->last_ns = blocks->allocated_ns[i];
	if (size < span->smallest)
		span->smallest = size;
	if (size > span->largest)
		span->largest = size;
	note_life(span, blocks->allocated_ns[i], blocks->freed_ns[i]);
	note_thread(piece, blocks->site[i], blocks->thread[i]);
}

static void span_piece(void *argument, size_t number)
{
	const struct spanning *spanning = argument;
	struct piece *piece = &spanning->pieces[number];
	uint64_t begin = number * spanning->piece, end = begin + spanning->piece;

	if (end > spanning->blocks->count)
		end = spanning->blocks->count;
	for (uint64_t i = begin; i < end && !piece->failed; i++)
		add(piece, spanning->blocks, i);
}

/* What comes later in the recording. */
static void join_span(struct site_span *span, const struct site_span *later)
{
	uint64_t blocks = span->blocks;

	if (!later->blocks)
		return;
	if (!blocks) {
		*span = *later;
		return;
	}
	span->blocks += later->blocks;
	span->last_ns = later->last_ns;
	if (later->smallest < span->smallest)
		span->smallest = later->smallest;
	if (later->largest > span->largest)
		span->largest = later->largest;
	span->freed += later->freed;
	if (later->longest_life_ns > span->longest_life_ns)
		span->longest_life_ns = later->longest_life_ns;
	add_lives(span, later->lives_ns);
}

static bool join(struct piece *piece, const struct piece *later, uint32_t sites)
{
	for (uint32_t i = 0; i < sites; i++) {
		join_span(&piece->spans[i], &later->spans[i]);
		piece->seen[i] |= later->seen[i];
	}
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
	return !later->failed;
}

static void count_threads(const struct piece *piece, uint32_t sites)
{
	for (uint32_t i = 0; i < sites; i++)
		piece->spans[i].threads = (uint64_t)__builtin_popcountll(piece->seen[i]);
	for (size_t i = 0; i < map_size(&piece->others); i++)
		if (piece->others.entries[i].value != MAP_NONE)
			piece->spans[piece->others.entries[i].key >> 32].threads++;
}

/* The first piece's spans are what is returned. */
static bool make(const struct spanning *spanning, size_t pieces)
{
	struct piece *first = &spanning->pieces[0];
	bool done;

	parallel_run(span_piece, (void *)spanning, pieces);
	done = !first->failed;
	for (size_t i = 1; done && i < pieces; i++)
		done = join(first, &spanning->pieces[i], spanning->sites);
	if (done)
		count_threads(first, spanning->sites);
	for (size_t i = 0; i < pieces; i++)
		map_deinit(&spanning->pieces[i].others);
	return done;
}

struct err *site_spans_make(const struct block_columns *blocks, uint32_t site_count,
			    struct site_span *ret)
{
	size_t count = parallel_pieces(blocks->count, PIECE_MIN);
	auto_free struct piece *pieces = calloc(count, sizeof(*pieces));
	auto_free uint64_t *seen = calloc(count * site_count + 1, sizeof(*seen));
	auto_free struct site_span *spans = calloc((count - 1) * site_count + 1, sizeof(*spans));
	struct spanning spanning = {
		.blocks = blocks,
		.sites = site_count,
		.piece = blocks->count / count + 1,
		.pieces = pieces,
	};

	if (!pieces || !seen || !spans)
		return err_no_memory();
	memset(ret, 0, site_count * sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		pieces[i].spans = i ? spans + (i - 1) * site_count : ret;
		pieces[i].seen = seen + i * site_count;
	}
	return make(&spanning, count) ? NULL : err_no_memory();
}
