/* Finds the live blocks, and the lanes that they lie in. */
#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_order.h"
#include "analysis/views/space_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

#define PIECE       ((uint64_t)1 << 16)  /* how many blocks a thread looks at at a time */
#define HEAP_SHIFT  26                   /* glibc's arenas are of heaps of 64 MiB, aligned */
#define RANGE_APART ((uint64_t)64 << 20) /* blocks of one range are not further apart */
/* Part of the blocks that is live, below which sorting these is cheaper than walking over all. */
#define FEW         16

/* The live blocks on their way into the job. */
struct finding {
	const struct space_job *job;
	const struct block_columns *columns;
	bool glibc;
	uint64_t *bits; /* of all blocks: it is live */
	uint32_t *rows; /* the live ones by address, then by lane */
};

static void finding_deinit(struct finding *finding)
{
	free(finding->bits);
	free(finding->rows);
}

static void find_live_piece(void *argument, size_t number)
{
	const struct finding *finding = argument;
	const struct block_columns *columns = finding->columns;
	uint64_t at = finding->job->query->at_ns, begin = number * PIECE, end = begin + PIECE;

	if (end > columns->count)
		end = columns->count;
	for (uint64_t i = begin; i < end; i += 64) {
		uint64_t word = 0, last = end - i < 64 ? end - i : 64;

		for (uint64_t bit = 0; bit < last; bit++)
			word |= (uint64_t)(columns->allocated_ns[i + bit] <= at &&
					   columns->freed_ns[i + bit] > at)
				<< bit;
		finding->bits[i / 64] = word;
	}
}

/* Marks the live blocks. Returns how many there are. */
static uint64_t find_live(const struct finding *finding)
{
	uint64_t blocks = finding->columns->count, live = 0;

	parallel_run(find_live_piece, (void *)finding, (blocks + PIECE - 1) / PIECE);
	for (uint64_t i = 0; i * 64 < blocks; i++)
		live += (uint64_t)__builtin_popcountll(finding->bits[i]);
	return live;
}

/* Takes the live blocks out of the order of all. */
static struct err *rows_of_all(struct finding *finding)
{
	const uint32_t *order;
	struct err *err =
		recording_block_order(finding->job->recording, BLOCK_ORDER_ADDRESS, &order);
	uint64_t next = 0;

	for (uint64_t i = 0; !err && i < finding->columns->count; i++)
		if (block_bits_has(finding->bits, order[i]))
			finding->rows[next++] = order[i];
	return err;
}

/* Sorts the live blocks alone. */
static struct err *rows_of_few(struct finding *finding, uint64_t count)
{
	auto_free uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	auto_free uint32_t *rows = malloc((count + 1) * sizeof(*rows));
	cleanup(spill_deinit) struct spill order = {0};
	uint64_t next = 0;
	struct err *err;

	if (!addresses || !rows)
		return err_no_memory();
	BLOCK_BITS_EACH(finding->bits, finding->columns->count, i)
	{
		addresses[next] = finding->columns->address[i];
		rows[next++] = (uint32_t)i;
	}
	err = block_order_make(addresses, count, &order);
	for (uint64_t i = 0; !err && i < count; i++)
		finding->rows[i] = rows[((const uint32_t *)order.data)[i]];
	return err;
}

static enum space_lane_kind kind_of(const struct finding *finding, uint32_t row)
{
	if (!finding->glibc)
		return SPACE_RANGE;
	if (finding->columns->heap_flags[row] & TRACE_HEAP_MMAPPED)
		return SPACE_MAPPED;
	return finding->columns->heap_flags[row] & TRACE_HEAP_NON_MAIN_ARENA ? SPACE_ARENA
									     : SPACE_MAIN_HEAP;
}

/* Puts the rows of one kind of lane together; they stay by address. */
static struct err *sort_by_kind(struct finding *finding, uint64_t count)
{
	auto_free uint32_t *sorted = malloc((count + 1) * sizeof(*sorted));
	uint64_t next = 0;

	if (!sorted)
		return err_no_memory();
	for (int kind = SPACE_MAIN_HEAP; kind <= SPACE_RANGE; kind++)
		for (uint64_t i = 0; i < count; i++)
			if (kind_of(finding, finding->rows[i]) == (enum space_lane_kind)kind)
				sorted[next++] = finding->rows[i];
	free(finding->rows);
	finding->rows = steal(&sorted);
	return NULL;
}

static void fill_piece(void *argument, size_t number)
{
	const struct finding *finding = argument;
	const struct block_columns *columns = finding->columns;
	const struct space_query *query = finding->job->query;
	struct space_block *blocks = finding->job->blocks;
	uint64_t begin = number * PIECE, end = begin + PIECE;

	if (end > finding->job->count)
		end = finding->job->count;
	for (uint64_t i = begin; i < end; i++) {
		uint32_t row = finding->rows[i];
		uint64_t used_end = space_behind(columns->address[row], columns->size[row]);

		blocks[i] = (struct space_block){
			.address = columns->address[row],
			.used_end = used_end,
			.end = space_behind(used_end, columns->slack[row]),
			.size = columns->size[row],
			.slack = columns->slack[row],
			.allocated_ns = columns->allocated_ns[row],
			.site = columns->site[row],
			.group = block_groups_of(query->groups, columns, row),
			.matches = block_bits_has(query->bits, row),
			.never_freed = columns->freed_ns[row] == TIME_NEVER,
		};
	}
}

/* Whether a block begins another lane than that of the block before it. */
static bool begins_lane(enum space_lane_kind kind, const struct space_block *before,
			const struct space_block *block)
{
	if (kind == SPACE_ARENA)
		return before->address >> HEAP_SHIFT != block->address >> HEAP_SHIFT;
	return kind == SPACE_RANGE && block->address > before->end &&
	       block->address - before->end > RANGE_APART;
}

/* Takes from a block what the next one has. */
static void cut_off(struct space_block *block, const struct space_block *next)
{
	if (block->end > next->address)
		block->end = next->address;
	if (block->used_end > block->end)
		block->used_end = block->end;
}

static struct err *find_lanes(const struct finding *finding, struct space_job *job)
{
	uint32_t numbers[SPACE_RANGE + 1] = {0};

	for (uint64_t i = 0; i < job->count; i++) {
		enum space_lane_kind kind = kind_of(finding, finding->rows[i]);
		struct space_lane *lane =
			job->lanes.count ? &job->lanes.items[job->lanes.count - 1] : NULL;

		if (!lane || lane->kind != kind ||
		    begins_lane(kind, &job->blocks[i - 1], &job->blocks[i])) {
			struct space_lane new = {.kind = kind, .number = ++numbers[kind]};

			if (!vec_push(&job->lanes, new) || !vec_push(&job->ends, i))
				return err_no_memory();
		} else {
			cut_off(&job->blocks[i - 1], &job->blocks[i]);
		}
		job->ends.items[job->lanes.count - 1] = i + 1;
	}
	return NULL;
}

static struct err *find_blocks(struct finding *finding, struct space_job *job)
{
	uint64_t blocks = finding->columns->count;
	struct err *err;

	finding->bits = malloc((blocks / 64 + 1) * sizeof(*finding->bits));
	if (!finding->bits)
		return err_no_memory();
	job->count = find_live(finding);
	finding->rows = malloc((job->count + 1) * sizeof(*finding->rows));
	if (!finding->rows || !spill_grow(&job->memory, (job->count + 1) * sizeof(*job->blocks)))
		return err_no_memory();
	job->blocks = job->memory.data;
	err = job->count > blocks / FEW &&
			      recording_has_block_order(job->recording, BLOCK_ORDER_ADDRESS)
		      ? rows_of_all(finding)
		      : rows_of_few(finding, job->count);
	if (!err)
		err = sort_by_kind(finding, job->count);
	if (err)
		return err;
	parallel_run(fill_piece, finding, (job->count + PIECE - 1) / PIECE);
	return find_lanes(finding, job);
}

struct err *space_find_blocks(struct space_job *job)
{
	const struct recording_facts *facts = recording_facts(job->recording);
	cleanup(finding_deinit) struct finding finding = {
		.job = job,
		.columns = recording_blocks(job->recording),
		// A live table does not have the marks that glibc puts into its chunks.
		.glibc = facts->allocator == TRACE_ALLOCATOR_GLIBC && !facts->live,
	};

	return find_blocks(&finding, job);
}
