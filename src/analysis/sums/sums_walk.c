/*
 * Takes allocations and frees in the order of events, so that it knows at each what is live of each
 * row. What a free ends is found without sorting all frees:
 *
 *	blocks     0 ...................... 10,000,000
 *	pieces     |---------------|---------------|       each has a thread
 *	windows    |-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|
 *
 * The frees before each allocation of a window are a list. Most blocks end in the window in which
 * they began: their lists are in the processor's cache. Others wait in a list of the window in
 * which they end. What began before a piece is live at its begin.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "analysis/sums/sums_data.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"
#include "hosted/vec.h"

/* Fewer blocks than this are not worth a thread, and the rows that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

#define WINDOW 8192u
#define END    UINT32_MAX

/* What is live of a row, and what was when most of all were. */
struct live_row {
	uint64_t bytes, blocks;
	/*
	 * Its share of the latest maximum is saved when it changes for the first time after it, as
	 * in site_table.h. saved: the number of the maximum that the share is of.
	 */
	uint64_t saved, peak_bytes, peak_blocks, own_peak;
};

/* A block that begins or ends in the window. */
struct node {
	uint64_t bytes, blocks;
	uint32_t row;
	uint32_t next; /* in its list of frees; of one that waits: before which block it ends */
};

struct piece {
	uint64_t first, end; /* blocks */
	struct sums_row *rows;
	struct live_row *live;
	struct node *nodes; /* of the window: of its blocks, then of those that end in it */
	size_t node_count, node_capacity;
	uint32_t *freed;              /* for each block of the window: list of frees before it */
	VEC(struct node) * waiting;   /* for each window: blocks of earlier ones that end in it */
	uint64_t live_bytes, maximum; /* of all rows; the latest maximum … */
	uint64_t maximum_number;      /* … its number, 0: none in this piece … */
	uint64_t maximum_ns;          /* … and when it was */
	bool failed;                  /* no memory */
};

struct walk {
	const struct sums_job *job;
	struct piece *pieces;
};

static uint64_t windows_of(const struct piece *piece)
{
	return (piece->end - piece->first + WINDOW - 1) / WINDOW;
}

static void piece_deinit(struct piece *piece)
{
	for (uint64_t i = 0; piece->waiting && i < windows_of(piece); i++)
		vec_deinit(&piece->waiting[i]);
	free(piece->waiting);
	free(piece->freed);
	free(piece->nodes);
}

static uint64_t weight_of(const struct sums_job *job, uint64_t i)
{
	return job->sample_mean ? sample_weight(job->sample_mean, job->blocks->size[i], i + 1) : 1;
}

/*
 * Copies a node. Member by member: read as a whole so soon after its members were written, a node
 * waits until they are in the cache (a third of the walk).
 */
static inline void copy(struct node *to, const struct node *from)
{
	to->bytes = from->bytes;
	to->blocks = from->blocks;
	to->row = from->row;
}

/* Keeps the whole node: to look at its block again would miss the cache. */
static inline void wait(struct piece *piece, const struct node *node, uint64_t turn)
{
	__auto_type list = &piece->waiting[(turn - piece->first) / WINDOW];
	struct node *waiting;

	if (!vec_reserve(list, 1)) {
		piece->failed = true;
		return;
	}
	waiting = &list->items[list->count++];
	copy(waiting, node);
	waiting->next = (uint32_t)turn;
}

static inline void make_node(const struct sums_job *job, uint64_t i, struct node *node)
{
	uint64_t weight = weight_of(job, i);

	node->bytes = weight * job->blocks->size[i];
	node->blocks = weight;
	node->row = sums_row_of_block(job, i);
}

/* What began before the piece and has not ended. */
static void take_earlier(const struct sums_job *job, struct piece *piece)
{
	const uint32_t *free_turn = job->blocks->free_turn;
	const uint64_t *bits = job->query->bits;

	for (uint64_t i = block_bits_next(bits, piece->first, 0); i < piece->first;
	     i = block_bits_next(bits, piece->first, i + 1)) {
		uint64_t turn = free_turn[i];
		struct node node;

		if (turn <= piece->first)
			continue;
		make_node(job, i, &node);
		piece->live[node.row].bytes += node.bytes;
		piece->live[node.row].blocks += node.blocks;
		piece->live_bytes += node.bytes;
		if (turn < piece->end)
			wait(piece, &node, turn);
	}
	piece->maximum = piece->live_bytes;
}

static void add_life(struct sums_row *row, uint64_t life)
{
	row->freed++;
	if (life > row->longest_ns)
		row->longest_ns = life;
	if (__builtin_add_overflow(row->lives_ns, life, &row->lives_ns))
		row->lives_ns = UINT64_MAX;
}

static bool is_suppressed(const struct sums_job *job, uint64_t i)
{
	const uint32_t *suppressed = job->query->suppressed;

	return suppressed && suppressed[(uint32_t)(job->sites[job->blocks->site[i]].stack + 1)];
}

static inline void add_calls(const struct sums_job *job, struct sums_row *row, uint64_t i,
			     const struct node *node)
{
	row->sum.total_bytes += node->bytes;
	row->sum.calls += node->blocks;
	if (job->blocks->freed_ns[i] == TIME_NEVER && !is_suppressed(job, i)) {
		row->sum.leaked_bytes += node->bytes;
		row->sum.leaked_blocks += node->blocks;
	}
}

static inline void add_block(const struct sums_job *job, struct sums_row *row, uint64_t i,
			     const struct node *node)
{
	const struct block_columns *blocks = job->blocks;
	uint64_t allocated = blocks->allocated_ns[i], freed = blocks->freed_ns[i];

	if (!row->spans) {
		row->spans = true;
		row->first_ns = allocated;
	}
	row->last_ns = allocated;
	add_calls(job, row, i, node);
	row->slack += node->blocks * blocks->slack[i];
	row->sum.temporary += block_bits_has(job->temporary, i);
	if (allocated <= job->half_ns && freed > job->half_ns)
		row->half += node->bytes;
	if (freed != TIME_NEVER)
		add_life(row, freed > allocated ? freed - allocated : 0);
}

/* Puts a node into the list of what ends before the allocation of that place in the window. */
static inline void list(struct piece *piece, struct node *node, uint64_t place)
{
	node->next = piece->freed[place];
	piece->freed[place] = (uint32_t)(node - piece->nodes);
}

static bool reserve(struct piece *piece, size_t count)
{
	struct node *nodes;

	if (count <= piece->node_capacity)
		return true;
	nodes = realloc(piece->nodes, 2 * count * sizeof(*nodes));
	if (!nodes)
		return false;
	piece->nodes = nodes;
	piece->node_capacity = 2 * count;
	return true;
}

/* Gathers what begins and ends in the window. A block's node is that of its place in the window. */
static void gather(const struct sums_job *job, struct piece *piece, uint64_t begin, uint64_t end)
{
	__auto_type waiting = &piece->waiting[(begin - piece->first) / WINDOW];
	const uint64_t *bits = job->query->bits;

	if (!reserve(piece, WINDOW + waiting->count)) {
		piece->failed = true;
		return;
	}
	memset(piece->freed, 0xff, WINDOW * sizeof(*piece->freed));
	for (size_t i = 0; i < waiting->count; i++) {
		copy(&piece->nodes[WINDOW + i], &waiting->items[i]);
		list(piece, &piece->nodes[WINDOW + i], waiting->items[i].next - begin);
	}
	for (uint64_t i = block_bits_next(bits, end, begin); i < end;
	     i = block_bits_next(bits, end, i + 1)) {
		struct node *node = &piece->nodes[i - begin];
		uint64_t turn = job->blocks->free_turn[i];

		make_node(job, i, node);
		if (turn < end)
			list(piece, node, turn - begin);
		else if (turn < piece->end)
			wait(piece, node, turn);
		if (!job->of_sites)
			add_block(job, &piece->rows[node->row], i, node);
	}
	vec_deinit(waiting);
}

/* The row, for a change of what it has live. */
static inline struct live_row *change(struct piece *piece, const struct node *node)
{
	struct live_row *live = &piece->live[node->row];

	if (live->saved != piece->maximum_number) {
		live->saved = piece->maximum_number;
		live->peak_bytes = live->bytes;
		live->peak_blocks = live->blocks;
	}
	return live;
}

static inline void end_lives(struct piece *piece, uint32_t list)
{
	while (list != END) {
		const struct node *node = &piece->nodes[list];
		struct live_row *live = change(piece, node);

		live->bytes -= node->bytes;
		live->blocks -= node->blocks;
		piece->live_bytes -= node->bytes;
		list = node->next;
	}
}

static void play(const struct sums_job *job, struct piece *piece, uint64_t begin, uint64_t end)
{
	for (uint64_t i = begin; i < end; i++) {
		const struct node *node = &piece->nodes[i - begin];
		struct live_row *live;

		end_lives(piece, piece->freed[i - begin]);
		if (!block_bits_has(job->query->bits, i))
			continue;
		live = change(piece, node);
		live->bytes += node->bytes;
		live->blocks += node->blocks;
		if (live->bytes > live->own_peak)
			live->own_peak = live->bytes;
		piece->live_bytes += node->bytes;
		if (piece->live_bytes <= piece->maximum)
			continue;
		piece->maximum = piece->live_bytes;
		piece->maximum_number++;
		piece->maximum_ns = job->blocks->allocated_ns[i];
	}
}

/* All that a brief query wants. */
static void count_piece(const struct sums_job *job, struct piece *piece)
{
	const uint64_t *bits = job->query->bits;

	for (uint64_t i = block_bits_next(bits, piece->end, piece->first); i < piece->end;
	     i = block_bits_next(bits, piece->end, i + 1)) {
		struct node node;

		make_node(job, i, &node);
		add_calls(job, &piece->rows[node.row], i, &node);
	}
}

static void walk_piece(void *argument, size_t number)
{
	const struct walk *walk = argument;
	const struct sums_job *job = walk->job;
	struct piece *piece = &walk->pieces[number];

	if (job->query->brief) {
		count_piece(job, piece);
		return;
	}
	piece->freed = malloc(WINDOW * sizeof(*piece->freed));
	piece->waiting = calloc(windows_of(piece) + 1, sizeof(*piece->waiting));
	piece->failed = !piece->freed || !piece->waiting;
	if (!piece->failed)
		take_earlier(job, piece);
	for (uint64_t begin = piece->first; begin < piece->end && !piece->failed; begin += WINDOW) {
		uint64_t end = begin + WINDOW < piece->end ? begin + WINDOW : piece->end;

		gather(job, piece, begin, end);
		if (!piece->failed)
			play(job, piece, begin, end);
	}
}

/* The piece in which most was live; the first of several. */
static const struct piece *find_peak(const struct piece *pieces, size_t count)
{
	const struct piece *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (pieces[i].maximum_number && (!found || pieces[i].maximum > found->maximum))
			found = &pieces[i];
	return found;
}

/* Puts the pieces together. The rows of the first one are those of sums. */
static void finish(const struct sums_job *job, const struct piece *pieces, size_t count,
		   struct sums *sums)
{
	const struct piece *peak = find_peak(pieces, count);

	sums->peak_ns = peak ? peak->maximum_ns : 0;
	for (uint32_t i = 0; i < job->rows; i++) {
		struct sums_row *row = &sums->rows[i];

		for (size_t j = 0; j < count; j++) {
			const struct live_row *live = &pieces[j].live[i];

			if (j && !job->of_sites)
				sums_row_add(row, &pieces[j].rows[i]);
			if (live->own_peak > row->sum.own_peak_bytes)
				row->sum.own_peak_bytes = live->own_peak;
		}
		if (peak) {
			const struct live_row *live = &peak->live[i];
			bool saved = live->saved == peak->maximum_number;

			row->sum.peak_bytes = saved ? live->peak_bytes : live->bytes;
			row->sum.peak_blocks = saved ? live->peak_blocks : live->blocks;
		}
	}
}

static struct err *run(const struct walk *walk, size_t count, struct sums *sums)
{
	bool failed = false;

	parallel_run(walk_piece, (void *)walk, count);
	for (size_t i = 0; i < count; i++)
		failed |= walk->pieces[i].failed;
	if (!failed)
		finish(walk->job, walk->pieces, count, sums);
	for (size_t i = 0; i < count; i++)
		piece_deinit(&walk->pieces[i]);
	return failed ? err_no_memory() : NULL;
}

struct err *sums_walk(const struct sums_job *job, struct sums *sums)
{
	uint64_t blocks = job->blocks->count;
	size_t count = parallel_pieces(blocks, PIECE_MIN), rows = job->rows;
	uint64_t length = (blocks / count / 64 + 1) * 64;
	auto_free struct piece *pieces = calloc(count, sizeof(*pieces));
	auto_free struct sums_row *more = calloc((count - 1) * rows + 1, sizeof(*more));
	auto_free struct live_row *live = calloc(count * rows + 1, sizeof(*live));

	if (!pieces || !more || !live)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		uint64_t end = (i + 1) * length;

		pieces[i].first = i * length < blocks ? i * length : blocks;
		pieces[i].end = end < blocks ? end : blocks;
		pieces[i].rows = i ? more + (i - 1) * rows : sums->rows;
		pieces[i].live = live + i * rows;
	}
	return run(&(struct walk){job, pieces}, count, sums);
}
