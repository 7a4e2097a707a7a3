/*
 * The facts of a run, and its curve, against the slow and obvious way, of random recordings: small
 * ones with many events at one time, and one that several processors share. Written and read, they
 * are the same; of damaged bytes nothing is believed that leads out of a table.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/facts/facts_cache.h"
#include "analysis/facts/facts_pack.h"
#include "analysis/recording_data.h"
#include "analysis/recording_memory.h"
#include "base/random.h"
#include "base/varint.h"
#include "check.h"
#include "trace_writer.h"

#define FRAMES  7
#define STREAMS 3
#define PLACES  64 /* addresses: few, so that blocks follow each other */

static uint64_t draw(uint64_t *random, uint64_t below)
{
	return random_next(random) % below;
}

/* Sizes are mostly small; now and then there is one that makes the peak. */
static uint64_t draw_size(uint64_t *random)
{
	return draw(random, 50) ? draw(random, 3000) : draw(random, 200000);
}

static void write_operation(struct trace_writer *writer, uint64_t *random, bool *live)
{
	uint64_t place = draw(random, PLACES), to = draw(random, PLACES);
	uint64_t address = 0x100000 + place * 0x40000,
		 dt = draw(random, 4) ? 0 : draw(random, 3000);

	trace_writer_push(writer, 1, 1, (unsigned)draw(random, FRAMES) + 1);
	if (!live[place]) {
		trace_writer_allocate(writer, 1, dt, address, draw_size(random));
		live[place] = true;
	} else if (draw(random, 3) || (to != place && live[to])) {
		trace_writer_free(writer, 20, dt, address);
		live[place] = false;
	} else {
		trace_writer_realloc(writer, TRACE_OP_REALLOC, dt, 0, address,
				     0x100000 + to * 0x40000, draw_size(random));
		live[place] = false;
		live[to] = true;
	}
}

/* Chunks of several streams, one after the other in time. */
static void write_random(struct trace_writer *writer, uint64_t seed, unsigned int operations)
{
	uint64_t random = seed, ticks = 1000;
	uint32_t sequences[STREAMS] = {0};
	bool live[PLACES] = {false};

	trace_writer_init(writer);
	for (unsigned int i = 0; i < operations; i += 2000) {
		uint32_t stream = (uint32_t)draw(&random, STREAMS);

		trace_writer_chunk(writer, stream, sequences[stream]++, TRACE_WRITER_SEALED);
		trace_writer_base(writer, ticks);
		for (uint64_t id = 1; !i && id <= FRAMES; id++)
			trace_writer_frame(writer, id, 0x1000 * id, 0);
		trace_writer_push(writer, 0, 1, 1);
		trace_writer_allocate(writer, 1, 0, 0x90000000 + i * UINT64_C(64), 8);
		trace_writer_record(writer, TRACE_RECORD_MEMORY, "suuuuuu", (int64_t)0, UINT64_C(9),
				    UINT64_C(8), UINT64_C(7), UINT64_C(6), UINT64_C(5),
				    UINT64_C(4));
		for (unsigned int j = 0; j < 2000 && i + j < operations; j++)
			write_operation(writer, &random, live);
		ticks = writer->time + 1;
		trace_writer_seal(writer);
	}
}

/* Blocks in the order of their numbers; a free is before the allocation of its turn's number. */
static uint64_t live_after(const struct block_columns *blocks, uint64_t turn, uint64_t without)
{
	uint64_t live = 0;

	for (uint64_t i = 0; i <= turn; i++)
		live += i != without && blocks->free_turn[i] > turn ? blocks->size[i] : 0;
	return live;
}

static uint64_t live_at(const struct block_columns *blocks, uint64_t ns, uint64_t site)
{
	uint64_t live = 0;

	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->allocated_ns[i] <= ns && blocks->freed_ns[i] > ns &&
		    (site == UINT64_MAX || blocks->site[i] == site))
			live += blocks->size[i];
	return live;
}

static void check_site(const struct recording *recording, const struct run_facts *facts,
		       uint32_t site, uint64_t peak)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t duration = recording_facts(recording)->duration_ns;
	const uint64_t *ends = facts->ends_ns;
	struct site_facts wanted = {.few_pages = facts->sites[site].few_pages};

	for (unsigned int part = 0; part < FACTS_POINTS; part++)
		wanted.live[part] = live_at(blocks, ends[part], site);
	for (uint64_t i = 0; i < blocks->count; i++) {
		unsigned int part = 0;

		if (blocks->site[i] != site)
			continue;
		while (blocks->allocated_ns[i] > ends[part])
			part++;
		if (blocks->freed_ns[i] == TIME_NEVER) {
			bool late = blocks->allocated_ns[i] > duration - duration / FACTS_LATE;

			wanted.kept[part] += blocks->size[i];
			wanted.late_bytes += late ? blocks->size[i] : 0;
			wanted.late_blocks += late;
		}
		if (i <= peak && blocks->free_turn[i] > peak)
			wanted.peak_slack += blocks->slack[i];
		if (blocks->free_thread[i] != RECORDING_NONE &&
		    blocks->free_thread[i] != blocks->thread[i]) {
			wanted.handed_bytes += blocks->size[i];
			wanted.handed_blocks++;
		}
	}
	assert_memory_equal(&wanted, &facts->sites[site], sizeof(wanted));
}

static void check_large(const struct recording *recording, const struct run_facts *facts,
			uint64_t peak)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t bytes = recording_summary(recording)->peak_bytes;
	uint32_t found = 0;

	for (uint64_t i = 0; i <= peak; i++) {
		uint64_t without = 0;
		bool named = false;

		if (blocks->free_turn[i] <= peak || blocks->size[i] * FACTS_SHARE < bytes)
			continue;
		found++;
		for (uint64_t turn = 0; turn < blocks->count; turn++) {
			uint64_t live = live_after(blocks, turn, i);

			without = live > without ? live : without;
		}
		for (uint32_t j = 0; j < facts->large_count; j++)
			named |= facts->large[j].size == blocks->size[i] &&
				 facts->large[j].site == blocks->site[i] &&
				 facts->large[j].allocated_ns == blocks->allocated_ns[i] &&
				 facts->large[j].freed_ns == blocks->freed_ns[i] &&
				 facts->large[j].without_bytes == without;
		assert_true(named);
	}
	assert_int_equal(facts->large_count, found);
	for (uint32_t i = 1; i < facts->large_count; i++)
		assert_true(facts->large[i].size <= facts->large[i - 1].size);
}

static void check_chains(const struct recording *recording, const struct run_facts *facts)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t steps = 0, ends = 0, copied = 0;

	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t to = blocks->successor[i];

		if (to == RECORDING_NONE)
			continue;
		steps++;
		ends += blocks->successor[to] == RECORDING_NONE;
		if (blocks->address[i] != blocks->address[to])
			copied += blocks->size[i] < blocks->size[to] ? blocks->size[i]
								     : blocks->size[to];
	}
	for (uint32_t i = 0; i < facts->chain_count; i++) {
		assert_true(!i || facts->chains[i].site > facts->chains[i - 1].site);
		steps -= facts->chains[i].steps;
		copied -= facts->chains[i].copied;
		for (int j = 0; j < 64; j++)
			ends -= facts->chains[i].ends[j];
	}
	assert_int_equal(steps | ends | copied, 0);
}

/* Page by page, over all addresses that there are. Returns whether there was a moment to look at.
 */
static bool check_pages(const struct recording *recording, const struct run_facts *facts)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t at = facts->pages.at_ns, pages = 0, few = 0, of_sites = 0;
	uint32_t *bytes = calloc(0x1100000 / FACTS_PAGE, sizeof(*bytes));
	uint32_t site_count;

	for (uint64_t i = 0; at && i < blocks->count; i++) {
		uint64_t size = blocks->size[i] ? blocks->size[i] : 1;

		if (blocks->allocated_ns[i] > at || blocks->freed_ns[i] <= at ||
		    blocks->size[i] > FACTS_PAGE_BLOCK)
			continue;
		if (blocks->address[i] >= 0x1100000) {
			pages++; // each lies on a page of its own
			few++;
			continue;
		}
		for (uint64_t j = 0; j < size; j++)
			bytes[(blocks->address[i] + j) / FACTS_PAGE]++;
	}
	for (size_t i = 0; i < 0x1100000 / FACTS_PAGE; i++) {
		pages += bytes[i] != 0;
		few += bytes[i] && bytes[i] <= FACTS_PAGE_FEW;
	}
	recording_sites(recording, &site_count);
	for (uint32_t i = 0; i < site_count; i++)
		of_sites += facts->sites[i].few_pages;
	// In the last part programs free all.
	assert_true(at <= facts->ends_ns[FACTS_POINTS - 2]);
	assert_int_equal(facts->pages.pages, pages);
	assert_int_equal(facts->pages.few_pages, few);
	assert_int_equal(of_sites, few);
	free(bytes);
	return pages;
}

/* The cell of the curve in which that moment is. */
static uint32_t cell_of(const struct facts_curve *curve, uint64_t ns)
{
	uint32_t cell = 0;

	while (curve->ends_ns[cell] < ns)
		cell++;
	return cell;
}

static void check_flow(const struct facts_curve *curve, uint32_t cell, const struct curve_flow *all,
		       const struct curve_flow *never)
{
	struct curve_flow sum = curve->never[cell];

	assert_memory_equal(&sum, never, sizeof(sum));
	sum.allocated_bytes +=
		curve->late[cell].allocated_bytes + curve->soon[cell].allocated_bytes;
	sum.allocated_blocks +=
		curve->late[cell].allocated_blocks + curve->soon[cell].allocated_blocks;
	sum.freed_bytes += curve->late[cell].freed_bytes + curve->soon[cell].freed_bytes;
	sum.freed_blocks += curve->late[cell].freed_blocks + curve->soon[cell].freed_blocks;
	assert_memory_equal(&sum, all, sizeof(sum));
}

/* What was freed late is known to within a cell. */
static void check_late(const struct recording *recording, const struct facts_curve *curve)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t late = recording_facts(recording)->duration_ns / FACTS_CURVE_LATE;
	uint64_t width = curve->ends_ns[0] + 1, least = 0, most = 0, found = 0;

	for (uint32_t i = 0; i < curve->cells; i++)
		found += curve->late[i].freed_blocks;
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint64_t lived = blocks->freed_ns[i] - blocks->allocated_ns[i];

		if (blocks->freed_ns[i] == TIME_NEVER)
			continue;
		least += lived > late + width;
		most += lived + width > late;
	}
	assert_in_range(found, least, most);
}

/* The curve, cell by cell, with all blocks. */
static void check_curve(const struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);
	const struct facts_curve *curve = recording->blocks->store.facts->curve;
	struct curve_flow *all = calloc(FACTS_CELLS, sizeof(*all));
	struct curve_flow *never = calloc(FACTS_CELLS, sizeof(*never));
	uint64_t *most = calloc(FACTS_CELLS, sizeof(*most));
	uint64_t *slack = calloc(FACTS_CELLS, sizeof(*slack));
	uint64_t live = 0, live_slack = 0;

	assert_in_range(curve->cells, FACTS_CELLS / 2 + 1, FACTS_CELLS);
	assert_int_equal(curve->ends_ns[curve->cells - 1], recording_facts(recording)->duration_ns);
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t cell = cell_of(curve, blocks->allocated_ns[i]);
		bool freed = blocks->freed_ns[i] != TIME_NEVER;
		uint64_t after = live_after(blocks, i, UINT64_MAX);

		most[cell] = after > most[cell] ? after : most[cell];
		slack[cell] += blocks->slack[i];
		curve_flow_begin(&all[cell], blocks->size[i], 1);
		if (!freed) {
			curve_flow_begin(&never[cell], blocks->size[i], 1);
			continue;
		}
		cell = cell_of(curve, blocks->freed_ns[i]);
		curve_flow_end(&all[cell], blocks->size[i], 1);
		slack[cell] -= blocks->slack[i];
	}
	for (uint32_t i = 0; i < curve->cells; i++) {
		most[i] = live > most[i] ? live : most[i];
		live += all[i].allocated_bytes - all[i].freed_bytes;
		live_slack += slack[i];
		check_flow(curve, i, &all[i], &never[i]);
		assert_int_equal(curve->slack_at[i], live_slack);
		assert_int_equal(curve->most[i], most[i]);
	}
	check_late(recording, curve);
	free(all);
	free(never);
	free(most);
	free(slack);
}

/* What was live at the last moment of 65,536, or of fewer while the run has few ticks. */
static void check_samples(const struct recording *recording, const struct run_facts *facts)
{
	uint64_t width = 1;
	uint32_t samples;
	const struct memory_sample *memory = recording_memory(recording, &samples);

	while (recording_facts(recording)->duration_ns / width >= FACTS_MOMENTS)
		width *= 2;
	assert_true(samples);
	for (uint32_t i = 0; i < samples; i++) {
		uint64_t begin = memory[i].time_ns / width * width;

		assert_int_equal(facts->sampled_live[i],
				 begin ? live_at(recording_blocks(recording), begin - 1, UINT64_MAX)
				       : 0);
	}
}

/* *ret: the block after whose allocation most was live, the first such one. */
static uint64_t find_peak(const struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t most = 0, peak = 0;

	for (uint64_t i = 0; i < blocks->count; i++) {
		uint64_t live = live_after(blocks, i, UINT64_MAX);

		if (live <= most)
			continue;
		most = live;
		peak = i;
	}
	assert_int_equal(most, recording_summary(recording)->peak_bytes);
	return peak;
}

static struct recording *open_written(const struct trace_writer *writer)
{
	struct recording *recording = NULL;

	assert_ok(recording_open_memory("x", writer->data, writer->size,
					RECORDING_RUN_FACTS | RECORDING_BLOCKS | RECORDING_CURVE,
					&recording));
	return recording;
}

static void slow_and_obvious(void **state)
{
	unsigned int with_pages = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		const struct run_facts *facts;
		struct trace_writer writer;
		struct recording *recording;
		uint32_t sites;
		uint64_t peak;

		write_random(&writer, seed, (unsigned)seed * 300);
		recording = open_written(&writer);
		assert_ok(recording_run_facts(recording, &facts));
		assert_non_null(facts);
		peak = find_peak(recording);
		recording_sites(recording, &sites);
		for (uint32_t i = 0; i < sites; i++)
			check_site(recording, facts, i, peak);
		assert_int_equal(facts->peak_site, recording_blocks(recording)->site[peak]);
		assert_int_equal(facts->peak_thread, recording_blocks(recording)->thread[peak]);
		check_large(recording, facts, peak);
		check_chains(recording, facts);
		with_pages += check_pages(recording, facts);
		check_curve(recording);
		check_samples(recording, facts);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
	assert_true(with_pages > 6);
}

static void begin_few(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_base(writer, 1000);
	trace_writer_frame(writer, 1, 0x1000, 0);
	trace_writer_push(writer, 0, 1, 1);
}

/* What others have live after a large block was freed is less than that had: its peak all the same.
 */
static void large_then_small(void **state)
{
	const struct run_facts *facts;
	struct trace_writer writer;
	struct recording *recording;

	begin_few(&writer);
	trace_writer_allocate(&writer, 1, 10, 0x10000000, 100 << 20);
	trace_writer_free(&writer, 20, 10, 0x10000000);
	for (uint64_t i = 0; i < 50; i++)
		trace_writer_allocate(&writer, 1, 10, 0x20000000 + (i << 21), 1 << 20);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_ok(recording_run_facts(recording, &facts));
	assert_int_equal(facts->large_count, 1);
	assert_int_equal(facts->large[0].without_bytes, 50 << 20);
	check_large(recording, facts, 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Nothing was ever live: no allocation reached a peak. */
static void no_bytes(void **state)
{
	const struct run_facts *facts;
	struct trace_writer writer;
	struct recording *recording;

	begin_few(&writer);
	trace_writer_allocate(&writer, 1, 10, 0x10000000, 0);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_ok(recording_run_facts(recording, &facts));
	assert_int_equal(facts->peak_site, RECORDING_NONE);
	assert_int_equal(facts->peak_thread, RECORDING_NONE);
	assert_int_equal(facts->large_count, 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Sums of many blocks: several processors share the work, and the parts are put together. */
static void many(void **state)
{
	const struct run_facts *facts;
	struct trace_writer writer;
	struct recording *recording;
	uint64_t kept = 0, live = 0, handed = 0;
	uint32_t sites, threads;

	write_random(&writer, 99, 1200000);
	recording = open_written(&writer);
	assert_true(recording_blocks(recording)->count > 300000);
	assert_ok(recording_run_facts(recording, &facts));
	recording_sites(recording, &sites);
	for (uint32_t i = 0; i < sites; i++) {
		live += facts->sites[i].live[FACTS_POINTS / 2];
		handed += facts->sites[i].handed_blocks;
		for (int j = 0; j < FACTS_POINTS; j++)
			kept += facts->sites[i].kept[j];
		assert_int_equal(facts->sites[i].live[FACTS_POINTS - 1],
				 recording_sites(recording, &sites)[i].leaked_bytes);
	}
	recording_threads(recording, &threads);
	for (uint32_t i = 0; i < threads; i++)
		handed -= facts->threads[i].handed_blocks;
	assert_int_equal(handed, 0);
	assert_int_equal(kept, recording_summary(recording)->leaked_bytes);
	assert_int_equal(live, live_at(recording_blocks(recording),
				       facts->ends_ns[FACTS_POINTS / 2], UINT64_MAX));
	check_chains(recording, facts);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void check_read(const struct recording *recording, const struct run_facts *facts,
		       const struct buf *packed)
{
	struct owned_facts read = {0};
	struct buf again = BUF_EMPTY;
	bool used;

	assert_ok(
		facts_unpack(recording, (const uint8_t *)packed->data, packed->size, &read, &used));
	assert_true(used);
	owned_facts_show(&read);
	assert_memory_equal(read.facts.large, facts->large, sizeof(facts->large));
	facts_pack(recording, &read.facts, &again);
	assert_int_equal(again.size, packed->size);
	assert_memory_equal(again.data, packed->data, packed->size);
	buf_deinit(&again);
	owned_facts_deinit(&read);
}

/* How long the ends of parts are, which older ones do not have. */
static size_t ends_size(const struct run_facts *facts)
{
	uint8_t bytes[VARINT_MAX];
	size_t size = 0;

	for (int i = 0; i < FACTS_POINTS; i++)
		size += (size_t)(varint_put(bytes,
					    facts->ends_ns[i] - (i ? facts->ends_ns[i - 1] : 0)) -
				 bytes);
	return size;
}

/* Every byte takes some wrong values, and the bytes end anywhere. */
static void damaged(void **state)
{
	const struct run_facts *facts;
	struct buf packed = BUF_EMPTY;
	struct trace_writer writer;
	struct recording *recording;
	uint8_t *data;

	write_random(&writer, 5, 3000);
	recording = open_written(&writer);
	assert_ok(recording_run_facts(recording, &facts));
	facts_pack(recording, facts, &packed);
	assert_ok(buf_finish(&packed));
	check_read(recording, facts, &packed);
	data = (uint8_t *)packed.data;
	for (size_t i = 0; i < packed.size; i++) {
		static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
		uint8_t was = data[i];

		for (size_t j = 0; j < sizeof(values); j++) {
			struct owned_facts read = {0};
			bool used;

			data[i] = values[j];
			assert_ok(facts_unpack(recording, data, packed.size, &read, &used));
			for (uint32_t k = 0; used && k < read.facts.large_count; k++)
				assert_true(read.facts.large[k].site <
					    recording->sites.sites.count);
			for (size_t k = 0; used && k < read.chains.count; k++)
				assert_true(read.chains.items[k].site <
					    recording->sites.sites.count);
			owned_facts_deinit(&read);
		}
		data[i] = was;
	}
	for (size_t size = 0; size < packed.size; size++) {
		uint8_t *cut = malloc(size + 1);
		struct owned_facts read = {0};
		bool used;

		memcpy(cut, data, size);
		assert_ok(facts_unpack(recording, cut, size, &read, &used));
		assert_int_equal(used, size == packed.size - ends_size(facts));
		owned_facts_deinit(&read);
		free(cut);
	}
	buf_deinit(&packed);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_and_obvious), cmocka_unit_test(large_then_small),
		cmocka_unit_test(no_bytes),         cmocka_unit_test(many),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
