#include "analysis/live/live_load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/blocks/block_order.h"
#include "hosted/cleanup.h"

struct err *live_load_begin(struct load *load, bool blocks)
{
	const struct live_header *header = &load->live.header;
	struct err *err;

	// In a sample blocks are always needed: their sizes tell what they stand for.
	blocks = blocks || load->header.sample_mean;
	err = live_snapshot_read(load->source, &load->index, &load->damage, blocks, &load->live);
	if (err)
		return err;
	err = chunk_index_renew(load->source, &load->damage, &load->index);
	if (!err && header->now_monotonic_ns && header->now_ticks > load->index.latest_ticks) {
		load->index.latest_ticks = header->now_ticks;
		load->index.latest_monotonic_ns = header->now_monotonic_ns;
	}
	return err;
}

/* A node of the snapshot, in the stack trie. */
struct resolved {
	uint32_t node; /* node of the stack trie + 1; 0: not known yet */
	uint32_t depth;
};

#define IN_WORK UINT32_MAX

struct resolving {
	struct load *load;
	struct resolved *nodes; /* for each node of the snapshot */
	VEC(uint32_t) path;     /* nodes that are not known yet, the innermost first */
};

static void resolving_deinit(struct resolving *resolving)
{
	free(resolving->nodes);
	vec_deinit(&resolving->path);
}

/*
 * Walks outwards to a node that is known, or to the outermost one. It ends also if the nodes are no
 * tree.
 */
static struct err *find_path(struct resolving *resolving, uint32_t number, uint32_t *outer)
{
	const struct live_snapshot *snapshot = &resolving->load->live;

	resolving->path.count = 0;
	while (number && number < snapshot->node_count && !resolving->nodes[number].node) {
		resolving->nodes[number].node = IN_WORK;
		if (!vec_push(&resolving->path, number))
			return err_no_memory();
		number = snapshot->nodes[number].parent;
	}
	*outer = number < snapshot->node_count && resolving->nodes[number].node != IN_WORK ? number
											   : 0;
	return NULL;
}

static struct decode_frame frame_of(const struct live_node *node)
{
	if (!node->frame)
		return (struct decode_frame){.pc = TRACE_PC_LOST};
	if (node->frame < LIVE_FRAME_SPECIAL)
		return (struct decode_frame){.id = node->frame};
	return (struct decode_frame){.pc = node->frame - LIVE_FRAME_SPECIAL};
}

/* *ret: the stack trie's node for a node of the snapshot; RECORDING_NONE: an empty stack. */
static struct err *resolve(struct resolving *resolving, uint32_t number, uint32_t *ret)
{
	struct recording *recording = resolving->load->recording;
	const struct live_node *nodes = resolving->load->live.nodes;
	uint32_t outer = 0, frame = 0, node, depth;
	struct err *err = find_path(resolving, number, &outer);

	if (err)
		return err;
	node = outer ? resolving->nodes[outer].node - 1 : RECORDING_NONE;
	depth = outer ? resolving->nodes[outer].depth : 0;
	for (size_t i = resolving->path.count; i-- > 0;) {
		uint32_t at = resolving->path.items[i];
		struct decode_frame named = frame_of(&nodes[at]);

		if (depth < DECODE_DEPTH_MAX) {
			err = frame_table_reference(&recording->tables->frames,
						    &recording->tables->modules, &named, 0, &frame);
			if (!err)
				err = stack_trie_insert(&recording->tables->trie, node, frame,
							&node);
			if (err)
				return err;
			depth++;
		}
		resolving->nodes[at] = (struct resolved){node + 1, depth};
	}
	*ret = node;
	return NULL;
}

/* a - b, but not below 0. */
static uint64_t rest(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Rounds calls, which sampled tables count in fractions. */
static uint64_t whole(const struct load *load, uint64_t calls)
{
	return load->header.sample_mean ? (calls + LIVE_WEIGHT_ONE / 2) / LIVE_WEIGHT_ONE : calls;
}

static uint64_t ticks_of(const struct load *load, uint32_t time)
{
	uint64_t ticks;

	if (__builtin_add_overflow(load->header.start_ticks, live_time_unpack(time), &ticks))
		return load->header.start_ticks;
	return ticks;
}

/* Sets the peaks. Parts have none: their whole has it. A peak is at least what is live. */
static void set_peaks(struct load *load, struct site *site, struct site_life *life,
		      const struct live_site *from)
{
	if (!(from->node & LIVE_SITE_PART)) {
		site->own_peak_bytes += from->peak_bytes;
		life->own_peak_blocks += whole(load, from->peak_calls);
	}
	if (site->own_peak_bytes < site->leaked_bytes)
		site->own_peak_bytes = site->leaked_bytes;
	if (life->own_peak_blocks < site->leaked_blocks)
		life->own_peak_blocks = site->leaked_blocks;
}

/* Adds the sums of a site. Several sites may have one stack. */
static void add_sums(struct load *load, uint32_t index, const struct live_site *from)
{
	struct recording *recording = load->recording;
	struct site *site = &recording->sites.sites.items[index];
	struct site_life *life = &recording->tables->live.sites.items[index];
	uint64_t first = ticks_of(load, from->first), since = ticks_of(load, from->since);
	uint64_t last = ticks_of(load, from->last);

	// `first` is exact; the others may be up to a tick of the kernel's clock too early.
	since = since > first ? since : first;
	last = last > since ? last : since;
	site->calls += whole(load, from->calls);
	site->total_bytes += from->bytes;
	site->leaked_blocks += whole(load, rest(from->calls, from->freed_calls));
	site->leaked_bytes += rest(from->bytes, from->freed_bytes);
	set_peaks(load, site, life, from);
	life->first_ns = first < life->first_ns ? first : life->first_ns;
	// Only if something is live: other parts may have begun long ago.
	if (from->calls > from->freed_calls && since < life->since_ns)
		life->since_ns = since;
	life->last_ns = last > life->last_ns ? last : life->last_ns;
	if (last > load->last_ticks)
		load->last_ticks = last;
}

/* Takes a site of the snapshot. It is made if blocks have not made it. */
static struct err *take_site(struct load *load, const struct live_site *from, uint32_t node)
{
	const struct site_life none = {.first_ns = UINT64_MAX, .since_ns = UINT64_MAX};
	struct recording *recording = load->recording;
	uint32_t index = 0;
	struct err *err = site_table_at(&recording->sites, node, &index);

	while (!err && recording->tables->live.sites.count < recording->sites.sites.count)
		if (!vec_push(&recording->tables->live.sites, none))
			err = err_no_memory();
	if (!err)
		add_sums(load, index, from);
	return err;
}

/* *ret: the nodes of the sites' stacks, by site number, owned by the caller (free()). */
static struct err *resolve_sites(struct load *load, uint32_t **ret)
{
	const struct live_snapshot *live = &load->live;
	cleanup(resolving_deinit) struct resolving resolving = {
		.load = load,
		.nodes = calloc((size_t)live->node_count + 1, sizeof(*resolving.nodes)),
	};
	auto_free uint32_t *nodes = calloc((size_t)live->site_count + 1, sizeof(*nodes));
	struct err *err = NULL;

	if (!resolving.nodes || !nodes)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < live->site_count; i++)
		if (live_snapshot_counts(live, i))
			err = resolve(&resolving, live_site_node(&live->sites[i]), &nodes[i]);
	if (!err)
		*ret = steal(&nodes);
	return err;
}

/*
 * *order: the blocks' indices by time; of one time, those of one region in order of their
 * addresses, as they were read.
 */
static struct err *sort_blocks(const struct live_blocks *blocks, struct spill *order)
{
	cleanup(spill_deinit) struct spill keys = {0};
	uint64_t *ticks;

	if (!spill_grow(&keys, blocks->count * sizeof(*ticks)))
		return err_no_memory();
	ticks = keys.data;
	for (size_t i = 0; i < blocks->count; i++)
		ticks[i] = blocks->list[i].ticks;
	return block_order_make(ticks, blocks->count, order);
}

static struct err *take_block(struct load *load, const struct found_block *block, uint32_t node)
{
	struct recording *recording = load->recording;
	const struct decode_event event = {
		.kind = TRACE_OP_MALLOC,
		.block = {.address = block->address, .size = block->size, .usable = block->size},
	};
	uint32_t thread = block->thread < load->live.thread_count ? block->thread : 0;

	// A core dump keeps still, so no two blocks have one address.
	if (recording->facts.core)
		return block_store_add_lasting(&recording->blocks->store, &recording->sites, &event,
					       node, load->header.start_ticks + block->ticks,
					       load->stream_count + thread);
	return block_store_allocate(&recording->blocks->store, &recording->sites, &event, node,
				    load->header.start_ticks + block->ticks,
				    load->stream_count + thread, 0);
}

/* Takes the blocks in the order of allocation, which is that of the columns. */
static struct err *take_blocks(struct load *load, const uint32_t *nodes)
{
	struct recording *recording = load->recording;
	const struct live_snapshot *live = &load->live;
	cleanup(spill_deinit) struct spill order = {0};
	struct err *err;

	err = block_store_threads(&recording->blocks->store,
				  (uint32_t)recording->tables->threads.count);
	if (!err)
		err = sort_blocks(&live->blocks, &order);
	for (size_t i = 0; !err && i < live->blocks.count; i++) {
		const uint32_t *by_time = order.data;
		// sort_blocks() made it. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
		const struct found_block *block = &live->blocks.list[by_time[i]];

		if (live_snapshot_counts(live, block->site))
			err = take_block(load, block, nodes[block->site]);
	}
	// Blocks have made sites. The sums of these come from the table.
	for (size_t i = 0; i < recording->sites.sites.count; i++) {
		struct site *site = &recording->sites.sites.items[i];

		*site = (struct site){.stack = site->stack};
	}
	return err;
}

/*
 * Makes threads of the recording, behind those of its streams; [0] is all threads without an entry.
 */
static struct err *take_threads(struct load *load)
{
	struct recording *recording = load->recording;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < load->live.thread_count; i++) {
		const struct live_thread *from = &load->live.threads[i];
		struct recorded_thread thread = {
			.stream = TRACE_NO_STREAM,
			.tid = from->tid,
			.name = arena_copy(&recording->tables->arena, from->name,
					   strnlen(from->name, sizeof(from->name))),
			.first_ns = UINT64_MAX,
		};

		if (!thread.name || !vec_push(&recording->tables->threads, thread))
			err = err_no_memory();
	}
	return err;
}

struct err *live_load_tables(struct load *load)
{
	auto_free uint32_t *nodes = NULL;
	struct err *err = take_threads(load);

	load->recording->tables->live.sites.count = load->recording->tables->live.intervals.count =
		0;
	if (!err)
		err = resolve_sites(load, &nodes);
	if (err)
		return err;
	assert(nodes);
	if (load->recording->blocks->store.wanted && load->live.blocks.count)
		err = take_blocks(load, nodes);
	for (uint32_t i = 0; !err && i < load->live.site_count; i++)
		if (live_snapshot_counts(&load->live, i))
			err = take_site(load, &load->live.sites[i], nodes[i]);
	if (!err && load->header.sample_mean)
		err = live_intervals_make(load, nodes);
	// The peak of all together is not known: what is live now stands for it.
	site_table_hold_peak(&load->recording->sites);
	return err;
}

/* The time of the snapshot: now if the program runs, else when it was last heard of. */
static uint64_t time_of_snapshot(const struct load *load)
{
	const struct recording_facts *facts = &load->recording->facts;
	struct timespec now;
	uint64_t ns;

	if (!facts->writing || clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return facts->duration_ns;
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return ns > facts->start_monotonic_ns ? ns - facts->start_monotonic_ns : 0;
}

struct err *live_load_finish(struct load *load)
{
	struct recording *recording = load->recording;
	struct recording_facts *facts = &recording->facts;
	struct live_data *live = &recording->tables->live;

	for (size_t i = 0; i < live->sites.count; i++) {
		struct site_life *life = &live->sites.items[i];

		if (life->since_ns == UINT64_MAX)
			life->since_ns = life->last_ns;
		life->first_ns = tick_clock_ns(&load->clock, life->first_ns);
		life->since_ns = tick_clock_ns(&load->clock, life->since_ns);
		life->last_ns = tick_clock_ns(&load->clock, life->last_ns);
	}
	facts->allocations = recording->summary.calls;
	facts->frees = rest(recording->summary.calls, recording->summary.leaked_blocks);
	live->facts.now_ns = time_of_snapshot(load);
	if (live->facts.now_ns > facts->duration_ns)
		facts->duration_ns = live->facts.now_ns;
	recording->summary.peak_time_ns = facts->duration_ns;
	live->facts.sites = live->sites.items;
	live->facts.intervals = load->header.sample_mean ? live->intervals.items : NULL;
	live->facts.table_bytes = load->live.size;
	live->facts.table_sites = load->live.site_count * sizeof(struct live_site);
	live->facts.table_stacks = load->live.node_count * sizeof(struct live_node);
	live->facts.not_counted = facts->lost;
	return live_threads_merge(recording, &load->live);
}
