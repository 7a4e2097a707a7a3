#include "analysis/errors/heap_errors.h"

#include <stdlib.h>

#include "analysis/recording_data.h"
#include "base/first_where.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"

struct wanted {
	uint64_t address;
	uint64_t rows;
	uint64_t time_ns;
	size_t suspect;
};

static int compare(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static size_t collect(const struct recording *recording, const struct tick_clock *clock,
		      struct wanted *wanted)
{
	const struct heap_errors *errors = &recording->blocks->heap_errors;
	size_t count = 0;

	for (size_t i = 0; i < errors->suspects.count && count < HEAP_SUSPECTS_LOOKED_FOR; i++) {
		const struct heap_suspect *suspect = &errors->suspects.items[i];

		if (suspect->block != BLOCK_NONE)
			continue;
		wanted[count++] = (struct wanted){
			.address = suspect->address,
			.rows = suspect->rows,
			.time_ns = tick_clock_ns(clock, suspect->ticks),
			.suspect = i,
		};
	}
	if (count)
		qsort(wanted, count, sizeof(*wanted), compare);
	return count;
}

/*
 * For each suspect that freed no block, sets inside[suspect] to the block that was live then and
 * contains the address, not at its first byte; BLOCK_NONE: there is none. If there are very many
 * suspects, only the first ones are looked up.
 */
static void heap_errors_inside(const struct recording *recording, const struct tick_clock *clock,
			       uint64_t *inside)
{
	const struct block_columns *blocks = &recording->blocks->store.columns;
	struct wanted wanted[HEAP_SUSPECTS_LOOKED_FOR];
	size_t count = collect(recording, clock, wanted);

	for (size_t i = 0; i < recording->blocks->heap_errors.suspects.count; i++)
		inside[i] = BLOCK_NONE;
	for (uint64_t row = 0; count && row < blocks->count; row++) {
		uint64_t address = blocks->address[row];

		for (size_t i = first_where(j, 0, count, wanted[j].address > address);
		     i < count && wanted[i].address - address < blocks->size[row]; i++) {
			if (row < wanted[i].rows && blocks->freed_ns[row] >= wanted[i].time_ns)
				inside[wanted[i].suspect] = row;
		}
	}
}

void heap_errors_deinit(struct heap_errors *errors)
{
	vec_deinit(&errors->suspects);
	vec_deinit(&errors->turns);
	vec_deinit(&errors->errors);
}

/* A suspect that is an error. */
struct verdict {
	struct heap_error error;
	uint64_t address;
	size_t number; /* in order of time */
};

struct trial {
	struct recording *recording;
	const struct tick_clock *clock;
	uint64_t off_since; /* off_since() */
	struct map last;    /* for each address that a suspect freed: the latest block there */
	uint64_t *inside;   /* for each suspect: heap_errors_inside() */
	VEC(struct verdict) verdicts;
};

static void trial_deinit(struct trial *trial)
{
	map_deinit(&trial->last);
	free(trial->inside);
	vec_deinit(&trial->verdicts);
}

/* The moment from which allocations may be missing. TIME_NEVER: none is. */
static uint64_t off_since(const struct recording *recording)
{
	for (size_t i = 0; i < recording->tables->switches.count; i++)
		if (!recording->tables->switches.items[i].on)
			return recording->tables->switches.items[i].time_ns;
	return TIME_NEVER;
}

/* Whether glibc or musl let the thread go on: they abort on the free of a block not theirs. */
static bool went_on(const struct recording *recording, const struct heap_suspect *suspect)
{
	return recording->blocks->heap_errors.turns.items[suspect->thread] > suspect->turn &&
	       recording->facts.allocator != TRACE_ALLOCATOR_OTHER;
}

/*
 * Whether the free of an unknown block may be right. had_block: a block at that address was
 * allocated and freed in this recording. inside: the address is within a block.
 */
static bool is_excused(const struct trial *trial, const struct heap_suspect *suspect,
		       bool had_block, bool inside)
{
	const struct recording_facts *facts = &trial->recording->facts;

	if (recording_facts_have_gaps(facts))
		return true;
	if (tick_clock_ns(trial->clock, suspect->ticks) >= trial->off_since)
		return true;
	if (inside)
		return false;
	if (went_on(trial->recording, suspect))
		return true;
	return (facts->begun_by_fork || facts->begun_by_start) && !had_block;
}

static void name_block(const struct recording *recording, uint64_t block, struct heap_error *error)
{
	const struct block_columns *blocks = &recording->blocks->store.columns;

	error->entry = blocks->entry[block];
	error->size = blocks->size[block];
	error->allocated = recording->sites.sites.items[blocks->site[block]].stack;
	if (error->kind == HEAP_ERROR_DOUBLE_FREE && blocks->free_stack)
		error->freed_once = blocks->free_stack[block];
}

/* Decides about a suspect. block: the latest at its address; BLOCK_NONE: there never was one. */
static struct err *judge(struct trial *trial, const struct heap_suspect *suspect, uint64_t block,
			 size_t number)
{
	const struct recording *recording = trial->recording;
	struct verdict verdict = {
		.address = suspect->address,
		.number = number,
		.error =
			{
				.release = suspect->release,
				.freed = suspect->stack,
				.freed_once = RECORDING_NONE,
				.time_ns = tick_clock_ns(trial->clock, suspect->ticks),
				.thread = suspect->thread,
			},
	};

	if (suspect->block != BLOCK_NONE) {
		verdict.error.kind = HEAP_ERROR_MISMATCH;
		block = suspect->block;
	} else if (is_excused(trial, suspect, block != BLOCK_NONE,
			      trial->inside[number] != BLOCK_NONE)) {
		trial->recording->blocks->heap_errors.unjudged++;
		return NULL;
	} else {
		verdict.error.kind =
			block == BLOCK_NONE ? HEAP_ERROR_NEVER_ALLOCATED : HEAP_ERROR_DOUBLE_FREE;
	}
	if (block == BLOCK_NONE)
		block = trial->inside[number];
	if (block != BLOCK_NONE) {
		name_block(recording, block, &verdict.error);
		verdict.error.offset =
			suspect->address - recording->blocks->store.columns.address[block];
	}
	return vec_push(&trial->verdicts, verdict) ? NULL : err_no_memory();
}

/*
 * Decides about all suspects. One walk over all blocks finds the latest one at each of their
 * addresses.
 */
static struct err *hear_all(struct trial *trial)
{
	const struct heap_errors *errors = &trial->recording->blocks->heap_errors;
	const uint64_t *address = trial->recording->blocks->store.columns.address;
	uint64_t row = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < errors->suspects.count; i++) {
		const struct heap_suspect *suspect = &errors->suspects.items[i];
		uint64_t *place = map_put(&trial->last, suspect->address);

		if (!place)
			return err_no_memory();
		*place = BLOCK_NONE - 1;
	}
	for (size_t i = 0; !err && i < errors->suspects.count; i++) {
		const struct heap_suspect *suspect = &errors->suspects.items[i];
		uint64_t last;

		for (; row < suspect->rows; row++) {
			if (map_get(&trial->last, address[row]) == MAP_NONE)
				continue;
			// The key is in the map already, so nothing grows.
			*map_put(&trial->last, address[row]) = row;
		}
		last = map_get(&trial->last, suspect->address);
		err = judge(trial, suspect, last == BLOCK_NONE - 1 ? BLOCK_NONE : last, i);
	}
	return err;
}

static int compare_keys(const struct heap_error *a, const struct heap_error *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->entry != b->entry)
		return a->entry < b->entry ? -1 : 1;
	if (a->release != b->release)
		return a->release < b->release ? -1 : 1;
	if (a->allocated != b->allocated)
		return a->allocated < b->allocated ? -1 : 1;
	if (a->freed != b->freed)
		return a->freed < b->freed ? -1 : 1;
	return a->freed_once < b->freed_once ? -1 : a->freed_once > b->freed_once;
}

static int compare_verdicts(const void *left, const void *right)
{
	const struct verdict *a = left, *b = right;
	int order = compare_keys(&a->error, &b->error);

	if (order)
		return order;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_firsts(const void *left, const void *right)
{
	const struct verdict *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Makes one verdict of equal ones, which follow each other: the first of them. */
static size_t join(struct verdict *verdicts, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct verdict next = verdicts[i];
		struct heap_error *error;

		if (!kept || compare_keys(&verdicts[kept - 1].error, &next.error))
			verdicts[kept++] = next;
		error = &verdicts[kept - 1].error;
		if (error->count < HEAP_ERROR_ADDRESSES)
			error->addresses[error->count] = next.address;
		error->count++;
	}
	return kept;
}

/* Joins equal verdicts to one error each, in the order of their first ones. */
static struct err *gather(struct trial *trial, struct heap_errors *errors)
{
	struct verdict *verdicts = trial->verdicts.items;
	size_t count = trial->verdicts.count;

	if (!count)
		return NULL;
	qsort(verdicts, count, sizeof(*verdicts), compare_verdicts);
	count = join(verdicts, count);
	qsort(verdicts, count, sizeof(*verdicts), compare_firsts);
	for (size_t i = 0; i < count; i++)
		if (!vec_push(&errors->errors, verdicts[i].error))
			return err_no_memory();
	return NULL;
}

bool heap_errors_need_blocks(const struct recording *recording)
{
	const struct heap_errors *errors = &recording->blocks->heap_errors;
	bool gaps = recording_facts_have_gaps(&recording->facts);

	for (size_t i = 0; i < errors->suspects.count; i++) {
		const struct heap_suspect *suspect = &errors->suspects.items[i];

		if (suspect->block != BLOCK_NONE ||
		    (!gaps && (suspect->inside || !went_on(recording, suspect))))
			return true;
	}
	return false;
}

static void forget_suspects(struct heap_errors *errors)
{
	vec_deinit(&errors->suspects);
	vec_deinit(&errors->turns);
}

struct err *heap_errors_judge(struct recording *recording, const struct tick_clock *clock)
{
	cleanup(trial_deinit) struct trial trial = {
		.recording = recording,
		.clock = clock,
		.off_since = off_since(recording),
	};
	struct err *err;

	if (!recording->blocks->store.wanted && !heap_errors_need_blocks(recording)) {
		recording->blocks->heap_errors.unjudged =
			recording->blocks->heap_errors.suspects.count;
		forget_suspects(&recording->blocks->heap_errors);
		return NULL;
	}
	trial.inside =
		calloc(recording->blocks->heap_errors.suspects.count + 1, sizeof(*trial.inside));
	if (!trial.inside)
		return err_no_memory();
	heap_errors_inside(recording, clock, trial.inside);
	err = hear_all(&trial);
	if (!err)
		err = gather(&trial, &recording->blocks->heap_errors);
	forget_suspects(&recording->blocks->heap_errors);
	return err;
}
