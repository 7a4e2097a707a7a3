/* The table of a program in live mode as a recording: exact, odd, damaged, and without memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/live/live_facts.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "failing_malloc.h"
#include "live_writer.h"

static struct trace_writer writer;

static void put_node(uint32_t parent, uint32_t frame)
{
	const uint32_t node[3] = {parent, frame};

	live_writer_bytes(&writer, node, sizeof(node));
}

struct numbers {
	uint64_t calls, bytes, freed_calls, freed_bytes, peak_calls, peak_bytes;
	uint32_t node, first, since, last;
};

/* A time of so many thousands of ticks: the mantissa, with an exponent of 0. */
static uint32_t time_of(uint32_t units)
{
	return units << 5;
}

static void put_thread(uint64_t calls, uint64_t bytes, uint32_t tid, const char *name)
{
	uint8_t thread[64] = {0};
	const uint32_t state = tid != 0;

	memcpy(thread, &calls, 8);
	memcpy(thread + 8, &bytes, 8);
	memcpy(thread + 16, &tid, 4);
	memcpy(thread + 20, &state, 4);
	memcpy(thread + 24, name, strlen(name));
	live_writer_bytes(&writer, thread, sizeof(thread));
}

static void begin(void)
{
	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_clock(&writer, 1000 + (1 << 20), 5000000 + (1 << 20));
	for (uint64_t i = 1; i <= 4; i++)
		trace_writer_frame(&writer, i, 0x1000 * i, 0);
	trace_writer_seal(&writer);
}

/*
 *	frame 1 ─ 2 ─ 3        site 1
 *	          └── 4        site 2
 *	(truncated) ─ 3        site 3, of which nothing is live
 */
static void put_sites(void)
{
	static const struct numbers sites[] = {
		{0},
		{10, 1000, 4, 300, 8, 900, 3, 1 << 5, 20 << 5, 40 << 5},
		{5, 50, 0, 0, 5, 50, 4, 2 << 5, 2 << 5, 6 << 5},
		{3, 30, 3, 30, 1, 10, 6, 3 << 5, 3 << 5, 9 << 5},
	};

	live_writer_chunk(&writer, 1, 12, 0, 7);
	put_node(0, 0);
	put_node(0, 1);
	put_node(1, 2);
	put_node(2, 3);
	put_node(2, 4);
	put_node(0, 0x80000001);
	put_node(5, 3);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 2, 64, 0, 4);
	live_writer_bytes(&writer, sites, sizeof(sites));
	live_writer_close(&writer);
}

/* Two threads "worker" and one "main"; main freed 4 blocks of a worker. */
static void put_threads(void)
{
	uint64_t freed[3 * 1024 + 4][2] = {0};

	freed[1 * 1024 + 2][0] = 4;
	freed[1 * 1024 + 2][1] = 300;
	freed[3 * 1024 + 3][0] = 3;
	freed[3 * 1024 + 3][1] = 30;
	live_writer_chunk(&writer, 3, 64, 0, 4);
	put_thread(0, 0, 0, "");
	put_thread(5, 50, 11, "main");
	put_thread(10, 1000, 12, "worker");
	put_thread(3, 30, 13, "worker");
	live_writer_close(&writer);
	live_writer_chunk(&writer, 4, 16, 0, 4096);
	live_writer_bytes(&writer, freed, sizeof(freed));
	live_writer_close(&writer);
}

static void write_table(void)
{
	begin();
	live_writer_header(&writer, 7, 4, 4);
	put_sites();
	put_threads();
}

static struct recording *open_table(unsigned int needs)
{
	struct recording *recording = NULL;

	assert_ok(recording_open_memory("live", writer.data, writer.size, needs, &recording));
	assert_non_null(recording_live(recording));
	return recording;
}

static void close_table(struct recording *recording)
{
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* The pcs of a stack, innermost first, as one number of hexadecimal digits. */
static uint64_t stack_of(const struct recording *recording, uint32_t node)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct recorded_frame *frames = recording_frames(recording, &count);
	uint64_t text = 0;

	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		uint64_t pc = frames[nodes[node].frame].pc;

		text = text << 4 | (pc < 16 ? 0xe : pc >> 12);
	}
	return text;
}

static void sites(void **state)
{
	const struct live_facts *live;
	const struct site *site;
	struct recording *recording;
	uint32_t count;

	write_table();
	recording = open_table(RECORDING_SUMS);
	live = recording_live(recording);
	site = recording_sites(recording, &count);
	assert_int_equal(count, 3);
	assert_int_equal(stack_of(recording, site[0].stack), 0x321);
	assert_int_equal(stack_of(recording, site[1].stack), 0x421);
	assert_int_equal(stack_of(recording, site[2].stack), 0x3e);
	assert_int_equal(site[0].calls, 10);
	assert_int_equal(site[0].total_bytes, 1000);
	assert_int_equal(site[0].leaked_blocks, 6);
	assert_int_equal(site[0].leaked_bytes, 700);
	assert_int_equal(site[0].peak_bytes, 700);
	assert_int_equal(site[0].own_peak_bytes, 900);
	assert_int_equal(live->sites[0].own_peak_blocks, 8);
	assert_int_equal(live->sites[0].first_ns, 1024);
	assert_int_equal(live->sites[0].since_ns, 20 * 1024);
	assert_int_equal(live->sites[0].last_ns, 40 * 1024);
	assert_int_equal(site[2].leaked_blocks, 0);
	assert_int_equal(recording_summary(recording)->live_bytes, 750);
	assert_int_equal(recording_summary(recording)->leaked_blocks, 11);
	assert_int_equal(recording_summary(recording)->calls, 18);
	assert_int_equal(recording_facts(recording)->frees, 7);
	assert_int_equal(live->now_ns, 40 * 1024); // nobody runs: when it was last heard of
	close_table(recording);
}

static void threads(void **state)
{
	const struct thread_sums *thread;
	const struct live_facts *live;
	struct recording *recording;

	write_table();
	recording = open_table(RECORDING_SUMS);
	live = recording_live(recording);
	assert_int_equal(live->thread_count, 2);
	thread = &live->threads[0];
	assert_string_equal(thread->name, "main");
	assert_int_equal(thread->allocated_bytes, 50);
	assert_int_equal(thread->freed_bytes, 300);
	assert_int_equal(thread->freed_blocks, 4);
	assert_int_equal(thread->in_use_bytes, 50);
	assert_int_equal(thread->freed_by_others_count, 0);
	thread = &live->threads[1];
	assert_string_equal(thread->name, "worker");
	assert_int_equal(thread->threads, 2);
	assert_int_equal(thread->allocated_bytes, 1030);
	assert_int_equal(thread->freed_bytes, 30);
	assert_int_equal(thread->allocated_freed_bytes, 330);
	assert_int_equal(thread->allocated_freed_blocks, 7);
	assert_int_equal(thread->in_use_bytes, 700);
	assert_int_equal(thread->in_use_blocks, 6);
	assert_int_equal(thread->freed_by_others_count, 1);
	assert_int_equal(thread->freed_by_others[0].thread, 0);
	assert_int_equal(thread->freed_by_others[0].bytes, 300);
	close_table(recording);
}

/* Parts in several chunks, and in any order; entries that there are no numbers for are left out. */
static void pieces(void **state)
{
	static const struct numbers some[] = {
		{2, 20, 0, 0, 2, 20, 1, 0, 0, 0},
		{1, 10, 0, 0, 1, 10, 2, 0, 0, 0},
		{9, 90, 0, 0, 9, 90, 2, 0, 0, 0},
	};
	struct recording *recording;
	const struct site *site;
	uint32_t count;

	begin();
	live_writer_header(&writer, 3, 3, 1);
	live_writer_chunk(&writer, 2, 64, 2, 2);
	live_writer_bytes(&writer, &some[1], 2 * sizeof(some[0]));
	live_writer_close(&writer);
	live_writer_chunk(&writer, 2, 64, 1, 1);
	live_writer_bytes(&writer, &some[0], sizeof(some[0]));
	live_writer_close(&writer);
	live_writer_chunk(&writer, 2, 32, 1, 1); // of entries that nobody knows
	live_writer_bytes(&writer, &some[2], 32);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 1, 12, 1, 2);
	put_node(0, 1);
	put_node(1, 2);
	live_writer_close(&writer);
	recording = open_table(RECORDING_SUMS);
	site = recording_sites(recording, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stack_of(recording, site[0].stack), 0x1);
	assert_int_equal(stack_of(recording, site[1].stack), 0x21);
	assert_int_equal(recording_summary(recording)->calls, 3);
	close_table(recording);
}

/* Nodes that are each other's parents, or nobody's; frames without a record; two sites, one stack.
 */
static void no_tree(void **state)
{
	static const struct numbers some[] = {
		{0},
		{1, 10, 0, 0, 1, 10, 1, 0, 0, 0},
		{1, 10, 2, 90, 1, 10, 2, 0, 0, 0}, // more was freed than allocated: read in between
		{1, 10, 0, 0, 1, 10, 3, 0, 0, 0},
		{1, 10, 0, 0, 1, 10, 77, 0, 0, 0},
		{1, 10, 0, 0, 1, 10, 4, 0, 0, 0},
		{1, 10, 0, 0, 1, 10, 5, 0, 0, 0},
	};
	struct recording *recording;
	const struct site *site;
	uint32_t count;

	begin();
	live_writer_header(&writer, 6, 7, 0);
	live_writer_chunk(&writer, 1, 12, 0, 6);
	put_node(0, 0);
	put_node(2, 1);
	put_node(1, 2);
	put_node(99, 3);
	put_node(0, 4);
	put_node(0, 4);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 2, 64, 0, 7);
	live_writer_bytes(&writer, some, sizeof(some));
	live_writer_close(&writer);
	recording = open_table(RECORDING_BLOCKS);
	site = recording_sites(recording, &count);
	assert_int_equal(count, 5);
	assert_int_equal(stack_of(recording, site[0].stack), 0x12);
	assert_int_equal(stack_of(recording, site[1].stack), 0x2);
	assert_int_equal(site[1].leaked_blocks, 0);
	assert_int_equal(site[1].leaked_bytes, 0);
	assert_int_equal(stack_of(recording, site[2].stack), 0x3);
	assert_int_equal(stack_of(recording, site[3].stack), 0);
	assert_int_equal(stack_of(recording, site[4].stack), 0x4);
	assert_int_equal(site[4].calls, 2);
	close_table(recording);
}

#define CELL    ((size_t)32)
#define PAIR    (1u << 26) /* in the name of a group of two cells */
#define FULL    (3u << 26) /* in that of a full one … */
#define MORE    (1u << 28) /* … with a chain behind it */
#define LEAVING (1u << 29) /* in that of one that is leaving its region */

/* An entry of a small block, of which the time is the mantissa. */
static uint64_t entry_of(uint64_t start, uint64_t size, uint64_t time, uint64_t thread,
			 uint64_t site)
{
	return (start + 1) | size << 8 | time << 23 | thread << 34 | site << 44;
}

static void put_cell(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	const uint64_t words[4] = {first, second, third, fourth};

	live_writer_bytes(&writer, words, sizeof(words));
}

/* A leaf of the memory from `place` on, in which region has that group. */
static void put_leaf(size_t number, uint64_t place, uint32_t region, uint32_t group)
{
	uint32_t heads[256] = {0};

	heads[region] = group;
	trace_writer_poke(&writer, writer.chunk + 88 + 8 * number, place, 8);
	live_writer_bytes(&writer, heads, sizeof(heads));
}

/* Heads before their cells; two groups of small blocks in one region, and large ones. */
static void put_blocks(void)
{
	live_writer_chunk(&writer, 5, 1024, 0, 4);
	put_leaf(0, 0x100000000 + 1, 255, 6 | PAIR);
	put_leaf(1, 0, 0, 8); // not in use
	put_leaf(2, 0x200000000 + 2, 3, 9 | LEAVING);
	put_leaf(3, 0x7e00000000 + 4, 1, 10);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 6, CELL, 4, 8);
	put_cell(0, entry_of(2, 10, 2, 1, 2), 0, entry_of(127, 1023, 20, 2, 1)); // 4
	put_cell(0, 0, 0, 0);
	put_cell(4, entry_of(128, 1, 1, 1, 1), entry_of(-1ull, 1, 1, 1, 1) & ~0xffull,
		 entry_of(4, 0, 3, 1, 2)); // 6 and 7
	put_cell(entry_of(6, 77, 4, 1, 2), 0, 0, 0);
	put_cell(0, entry_of(1, 1, 1, 1, 1), 0, 0);                                 // 8: nobody's
	put_cell(11, 0x200007ff8, (1ull << 42) + (2ull << 32) + time_of(40), 1024); // 9
	put_cell(0, 0x7e00800000, (1ull << 42) + (2ull << 32) + time_of(41), 1ull << 33);
	put_cell(0, 0x200000000, (1ull << 42) + (2ull << 32) + time_of(42), 1024); // elsewhere
	live_writer_close(&writer);
}

static void blocks(void **state)
{
	const struct block_columns *columns;
	const struct recorded_thread *thread;
	struct recording *recording;
	const struct site *site;
	uint32_t count;

	write_table();
	put_blocks();
	recording = open_table(RECORDING_BLOCKS);
	columns = recording_blocks(recording);
	thread = recording_threads(recording, &count);
	site = recording_sites(recording, &count);
	assert_int_equal(columns->count, 6);
	assert_int_equal(columns->address[0], 0x10003fc10);
	assert_int_equal(columns->size[0], 10);
	assert_int_equal(columns->allocated_ns[0], 2 * 1024);
	assert_int_equal(columns->freed_ns[0], TIME_NEVER);
	assert_int_equal(columns->address[1], 0x10003fc20);
	assert_int_equal(columns->size[1], 0);
	assert_int_equal(columns->address[2], 0x10003fc30);
	assert_int_equal(columns->size[2], 77);
	assert_int_equal(columns->address[3], 0x10003fff8);
	assert_int_equal(columns->size[3], 1023);
	assert_int_equal(columns->allocated_ns[3], 20 * 1024);
	assert_string_equal(thread[columns->thread[3]].name, "worker");
	assert_int_equal(thread[columns->thread[3]].tid, 12);
	assert_string_equal(thread[columns->thread[0]].name, "main");
	assert_int_equal(columns->address[4], 0x200007ff8);
	assert_int_equal(columns->size[4], 1024);
	assert_int_equal(columns->allocated_ns[4], 40 * 1024);
	assert_int_equal(columns->address[5], 0x7e00800000);
	assert_int_equal(columns->size[5], 1ull << 33);
	// What the sites come to is said by the table, not by its blocks.
	assert_int_equal(count, 3);
	assert_int_equal(site[columns->site[3]].calls, 10);
	assert_int_equal(site[columns->site[0]].calls, 5);
	assert_int_equal(recording_summary(recording)->live_bytes, 750);
	close_table(recording);
}

static void put_full(uint64_t chain, size_t first, uint64_t one, size_t second, uint64_t other)
{
	uint64_t words[33] = {chain};

	words[1 + first] = one;
	words[1 + second] = other;
	live_writer_bytes(&writer, words, sizeof(words));
}

/* With a chain, without one; one named twice, and one that the file does not have. */
static void full_groups(void **state)
{
	const struct block_columns *columns;
	struct recording *recording;

	write_table();
	live_writer_chunk(&writer, 5, 1024, 0, 4);
	put_leaf(0, 0x100000000 + 1, 5, 1 | FULL | MORE);
	put_leaf(1, 0x200000000 + 1, 0, 2 | LEAVING);
	put_leaf(2, 0x300000000 + 1, 0, 2 | FULL);
	put_leaf(3, 0x400000000 + 1, 0, 3 | FULL);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 6, CELL, 4, 1);
	put_cell(0, entry_of(2, 10, 1, 1, 2), 0, entry_of(3, 20, 2, 1, 2));
	live_writer_close(&writer);
	live_writer_chunk(&writer, 7, 264, 1, 2);
	put_full(4, 0, entry_of(0, 30, 3, 1, 2), 31, entry_of(127, 40, 4, 1, 2));
	put_full(0, 1, entry_of(6, 50, 5, 1, 2), 2, 0);
	live_writer_close(&writer);
	recording = open_table(RECORDING_BLOCKS);
	columns = recording_blocks(recording);
	assert_int_equal(columns->count, 5);
	assert_int_equal(columns->address[0], 0x100001410);
	assert_int_equal(columns->address[1], 0x100001418);
	assert_int_equal(columns->address[2], 0x100001400);
	assert_int_equal(columns->address[3], 0x1000017f8);
	assert_int_equal(columns->size[3], 40);
	assert_int_equal(columns->address[4], 0x200000030);
	close_table(recording);
}

/* Chains without an end, or that are another's; cells that the file does not have. */
static void no_chains(void **state)
{
	static const struct {
		uint32_t head;
		uint64_t next;
		uint64_t count; /* of blocks */
	} chains[] = {
		{4, 4, 1},        {4, 5, 2},         {4, 0x3ffffff, 1},  {4, UINT64_MAX, 1},
		{6 | PAIR, 4, 0}, {4 | PAIR, 0, 2},  {5 | PAIR, 0, 0},   {4 | FULL, 0, 0},
		{4, 4 | FULL, 1}, {0x3ffffff, 0, 0}, {UINT32_MAX, 0, 0}, {PAIR, 0, 0},
	};

	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++) {
		struct recording *recording;

		write_table();
		live_writer_chunk(&writer, 6, CELL, 4, 2);
		put_cell(chains[i].next, entry_of(2, 10, 2, 1, 2), 0, 0);
		put_cell(0, entry_of(3, 10, 2, 1, 2), 0, 0);
		live_writer_close(&writer);
		live_writer_chunk(&writer, 5, 1024, 0, 1);
		put_leaf(0, 0x100000000 + 1, 0, chains[i].head);
		live_writer_close(&writer);
		recording = open_table(RECORDING_BLOCKS);
		assert_int_equal(recording_blocks(recording)->count, chains[i].count);
		close_table(recording);
	}
}

static void sampled(void **state)
{
	static const struct numbers some[] = {
		{0},
		{(5 << 16) + 40000, 1000, 1 << 16, 100, 5 << 16, 900, 1, 0, 0, 0},
	};
	struct recording *recording;
	const struct site *site;
	uint32_t count;

	begin();
	live_writer_header(&writer, 2, 2, 0);
	trace_writer_poke(&writer, 112, 65536, 8);
	live_writer_chunk(&writer, 1, 12, 1, 1);
	put_node(0, 1);
	live_writer_close(&writer);
	live_writer_chunk(&writer, 2, 64, 0, 2);
	live_writer_bytes(&writer, some, sizeof(some));
	live_writer_close(&writer);
	recording = open_table(RECORDING_SUMS);
	site = recording_sites(recording, &count);
	assert_int_equal(count, 1);
	assert_int_equal(site->calls, 6);
	assert_int_equal(site->total_bytes, 1000);
	assert_int_equal(site->leaked_blocks, 5);
	assert_int_equal(site->leaked_bytes, 900);
	close_table(recording);
}

/* Blocks of a table whose threads were lost are of all that have no entry. */
static void no_threads(void **state)
{
	const struct block_columns *columns;
	struct recording *recording;
	uint32_t count;

	begin();
	live_writer_header(&writer, 7, 4, 0);
	put_sites();
	put_blocks();
	recording = open_table(RECORDING_BLOCKS);
	columns = recording_blocks(recording);
	recording_threads(recording, &count);
	assert_int_equal(columns->count, 6);
	for (uint64_t i = 0; i < columns->count; i++)
		assert_true(columns->thread[i] < count);
	close_table(recording);
}

static void write_sampled(uint64_t mean)
{
	write_table();
	put_blocks();
	trace_writer_poke(&writer, 112, mean, 8);
}

/* The interval of the site that has so many bytes live. */
static struct sample_interval interval_of(const struct recording *recording, uint64_t bytes)
{
	const struct live_facts *live = recording_live(recording);
	uint32_t count, i;
	const struct site *site = recording_sites(recording, &count);

	assert_non_null(live->intervals);
	for (i = 0; i < count && site[i].leaked_bytes != bytes;)
		i++;
	assert_true(i < count);
	return live->intervals[i].bytes;
}

/* Of the sums around the blocks, whether these are wanted themselves or not. */
static void intervals(void **state)
{
	for (unsigned int needs = RECORDING_SUMS; needs <= RECORDING_BLOCKS; needs++) {
		struct recording *recording;
		const struct live_facts *live;

		write_sampled(100);
		recording = open_table(needs);
		live = recording_live(recording);
		assert_int_equal(recording_blocks(recording)->count, needs ? 6 : 0);
		// Blocks of 1,023 bytes and more, which are in nearly every sample.
		assert_int_equal(interval_of(recording, 700).low, 700);
		assert_int_equal(interval_of(recording, 700).high, 717);
		// Of 0, 10 and 77.
		assert_int_equal(interval_of(recording, 50).low, 50);
		assert_int_equal(interval_of(recording, 50).high, 520);
		assert_int_equal(interval_of(recording, 0).high, 0);
		assert_int_equal(live->all.bytes.low, 750);
		assert_int_equal(live->all.bytes.high, 1220);
		close_table(recording);
	}
}

/* Where all is counted nothing is estimated. */
static void no_intervals(void **state)
{
	struct recording *recording;

	write_sampled(0);
	recording = open_table(RECORDING_SUMS);
	assert_null(recording_live(recording)->intervals);
	close_table(recording);
}

/* Without stacks the one site has the sums of all threads. */
static void stackless(void **state)
{
	static const struct numbers none[2];
	struct recording *recording;
	const struct site *site;
	uint32_t count;

	begin();
	live_writer_header(&writer, 1, 2, 4);
	live_writer_chunk(&writer, 2, 64, 0, 2);
	live_writer_bytes(&writer, none, sizeof(none));
	live_writer_close(&writer);
	put_threads();
	recording = open_table(RECORDING_SUMS);
	site = recording_sites(recording, &count);
	assert_int_equal(count, 1);
	assert_int_equal(site->stack, RECORDING_NONE);
	assert_int_equal(site->calls, 18);
	assert_int_equal(site->total_bytes, 1080);
	assert_int_equal(site->leaked_blocks, 11);
	assert_int_equal(site->leaked_bytes, 750);
	assert_int_equal(site->own_peak_bytes, 750);
	close_table(recording);
}

/* What a view would look at: each number is one that it may use. */
static void touch(const struct recording *recording)
{
	const struct block_columns *columns = recording_blocks(recording);
	const struct live_facts *live = recording_live(recording);
	uint32_t sites_count, stacks, frames, threads_count;
	const struct site *site = recording_sites(recording, &sites_count);
	const struct stack_node *nodes = recording_stacks(recording, &stacks);
	uint64_t sum = 0;

	recording_frames(recording, &frames);
	recording_threads(recording, &threads_count);
	for (uint64_t i = 0; i < columns->count; i++) {
		assert_true(!i || columns->allocated_ns[i] >= columns->allocated_ns[i - 1]);
		assert_true(columns->site[i] < sites_count);
		assert_true(columns->thread[i] < threads_count);
	}
	for (uint32_t i = 0; i < stacks; i++)
		assert_true(nodes[i].frame < frames &&
			    (nodes[i].parent == RECORDING_NONE || nodes[i].parent < i));
	for (uint32_t i = 0; i < sites_count; i++) {
		assert_true(site[i].stack == RECORDING_NONE || site[i].stack < stacks);
		sum += live ? live->sites[i].own_peak_blocks : 0;
		assert_true(!live || !live->intervals ||
			    live->intervals[i].bytes.low <= live->intervals[i].bytes.high);
	}
	for (uint32_t i = 0; live && i < live->thread_count; i++) {
		const struct thread_sums *thread = &live->threads[i];

		sum += strlen(thread->name);
		for (uint32_t j = 0; j < thread->freed_by_others_count; j++)
			assert_true(thread->freed_by_others[j].thread < live->thread_count);
	}
	assert_true(sum != 1);
}

/* A copy of exactly that size, so that a sanitizer sees what is read behind it. */
static void open_copy(const uint8_t *data, size_t size)
{
	struct recording *recording = NULL;
	uint8_t *copy = malloc(size ? size : 1);
	struct err *err;

	assert_non_null(copy);
	memcpy(copy, data, size);
	err = recording_open_memory("live", copy, size, RECORDING_BLOCKS, &recording);
	free(copy);
	if (err)
		err_destroy(err);
	else
		touch(recording);
	recording_close(recording);
}

static void cut(void **state)
{
	write_table();
	for (size_t size = 0; size <= writer.size; size += 13)
		open_copy(writer.data, size);
	trace_writer_deinit(&writer);
}

static void flipped(void **state)
{
	unsigned int seed = 20261122;

	for (int i = 0; i < 3000; i++) {
		if (i % 3)
			write_table();
		else
			write_sampled(100);
		for (int flips = 1 + i % 4; flips; flips--) {
			size_t byte = (size_t)rand_r(&seed) % writer.size;

			// Most of a table is empty: what is not, more often.
			if (i % 2)
				byte = byte / 4096 * 4096 + byte % 160;
			writer.data[byte] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		}
		open_copy(writer.data, writer.size);
		trace_writer_deinit(&writer);
	}
}

static void no_memory(void **state)
{
	long n;

	write_sampled(100);
	for (n = 0;; n++) {
		struct recording *recording = NULL;
		struct err *err;

		failing_malloc_countdown = n;
		err = recording_open_memory("live", writer.data, writer.size, RECORDING_BLOCKS,
					    &recording);
		failing_malloc_countdown = -1;
		if (!err) {
			recording_close(recording);
			break;
		}
		assert_int_equal(err_number(err), ENOMEM);
		assert_null(recording);
		err_destroy(err);
	}
	assert_true(n > 20);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites),      cmocka_unit_test(threads),
		cmocka_unit_test(pieces),     cmocka_unit_test(no_tree),
		cmocka_unit_test(blocks),     cmocka_unit_test(full_groups),
		cmocka_unit_test(no_chains),  cmocka_unit_test(sampled),
		cmocka_unit_test(stackless),  cmocka_unit_test(cut),
		cmocka_unit_test(flipped),    cmocka_unit_test(no_memory),
		cmocka_unit_test(intervals),  cmocka_unit_test(no_intervals),
		cmocka_unit_test(no_threads),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
