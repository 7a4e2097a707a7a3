#include "report/export/heaptrack_export.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/blocks/block_events.h"
#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_temporary.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "report/export/heaptrack_kinds.h"
#include "report/words/style.h"

#define HEAPTRACK_VERSION 0x10300 /* the first that wrote version 3 of the file */
#define FILE_VERSION      3

#define PAGE             4096
#define NS_PER_MS        1000000
#define TOGETHER_NS      (10 * NS_PER_MS) /* heaptrack_export.h says why */
#define KINDS_AT_A_TIME  1024
#define EVENTS_AT_A_TIME 8192

/*
 * Two walks over the events: the first defines the kinds of blocks, the second writes the events.
 */
struct heaptrack_export {
	const struct recording *recording;
	const struct filter_match *match; /* NULL: all blocks */
	const struct block_columns *blocks;
	struct block_events *events;
	struct heaptrack_kinds kinds;
	uint64_t *temporary; /* a bit for each block */
	enum { HEAD, KINDS, EVENTS } stage;

	/* For the first walk. */
	uint64_t live_bytes, peak_bytes;
	uint64_t peak_block; /* with its allocation most was live */

	/* For the second walk. */
	uint64_t ms;           /* the time that the file has reached */
	uint32_t memory_count; /* how many samples of resident memory are written */
	uint32_t last_kind;    /* the reader's: kind of the last event, 0 if it was a free */
	uint64_t last_block;   /* allocated by the last event, UINT64_MAX if it was a free */
};

void heaptrack_export_destroy(struct heaptrack_export *export)
{
	if (!export)
		return;
	block_events_destroy(export->events);
	heaptrack_kinds_deinit(&export->kinds);
	free(export->temporary);
	free(export);
}
CLEANUP_DEFINE(struct heaptrack_export *, heaptrack_export_destroy);

struct err *heaptrack_export_create(struct symbolized *symbolized, const struct filter_match *match,
				    struct heaptrack_export **ret)
{
	cleanup(heaptrack_export_destroy_at) struct heaptrack_export *export =
		calloc(1, sizeof(*export));
	struct err *err;

	if (!export)
		return err_no_memory();
	export->recording = symbolized_recording(symbolized);
	export->blocks = recording_blocks(export->recording);
	export->match = match;
	export->last_block = UINT64_MAX;
	err = block_events_create(export->recording, match ? match->words : NULL, &export->events);
	if (!err)
		err = block_temporary_find(export->recording, &export->temporary);
	if (!err)
		err = heaptrack_kinds_init(&export->kinds, symbolized);
	if (err)
		return err;
	*ret = steal(&export);
	return NULL;
}

/* Writes a line with one number in one step, not in four: nearly all lines are such. */
static void put_line(struct buf *buf, char type, uint64_t number)
{
	char line[2 + 16 + 1], *end = line + sizeof(line), *p;

	end[-1] = '\n';
	p = buf_hex_digits(end - 1, number);
	*--p = ' ';
	*--p = type;
	buf_put(buf, p, (size_t)(end - p));
}

static void put_command(struct buf *buf, const struct recording_facts *facts)
{
	const char *const program[] = {facts->program, NULL};
	const char *const *words = program;

	if (facts->arguments && facts->arguments[0])
		words = facts->arguments;
	buf_char(buf, 'X');
	for (; *words; words++) {
		buf_char(buf, ' ');
		style_safe_text(buf, *words, strlen(*words));
	}
	buf_char(buf, '\n');
}

/* Writes comments, which readers ignore, for people who wonder about the numbers. */
static void put_comments(struct heaptrack_export *export, struct buf *buf)
{
	const struct recording_facts *facts = recording_facts(export->recording);
	const struct filter_match *match = export->match;

	buf_text(buf, "# written by mallow " MALLOW_VERSION "\n");
	if (match)
		buf_printf(buf, "# %" PRIu64 " of %" PRIu64 " allocations, those of a filter\n",
			   match->count, match->blocks);
	if (facts->sample_mean)
		buf_printf(buf,
			   "# a sample, one in %" PRIu64 " bytes: sizes are of all that a block "
			   "stands for, calls count samples\n",
			   facts->sample_mean);
	if (facts->culled_allocations)
		buf_printf(buf, "# without %" PRIu64 " allocations that were only counted\n",
			   facts->culled_allocations);
}

static void put_head(struct heaptrack_export *export, struct buf *buf)
{
	const struct recording_facts *facts = recording_facts(export->recording);

	buf_printf(buf, "v %x %x\n", HEAPTRACK_VERSION, FILE_VERSION);
	put_comments(export, buf);
	put_command(buf, facts);
	buf_printf(buf, "I %x 0\n", PAGE); // the machine's number of pages is not known
	if (facts->begun_by_start)
		buf_text(buf, "A\n");
	export->stage = KINDS;
}

/* A block's size; in a sampled recording, the size of all that it stands for. */
static uint64_t size_of(const struct heaptrack_export *export, uint64_t block)
{
	uint64_t mean = recording_facts(export->recording)->sample_mean;
	uint64_t size = export->blocks->size[block];

	return mean ? size * sample_weight(mean, size, block + 1) : size;
}

static struct err *take_kind(struct heaptrack_export *export, struct buf *buf, uint64_t block)
{
	uint64_t size = size_of(export, block);

	export->live_bytes += size;
	if (export->live_bytes > export->peak_bytes) {
		export->peak_bytes = export->live_bytes;
		export->peak_block = block;
	}
	return heaptrack_kinds_take(&export->kinds, buf, block, size);
}

static struct err *put_kinds(struct heaptrack_export *export, struct buf *buf)
{
	struct block_event event = {0};
	struct err *err = NULL;

	for (int i = 0; !err && export->stage == KINDS && i < KINDS_AT_A_TIME; i++) {
		err = block_events_next(export->events, &event);
		if (!err && event.kind == BLOCK_ALLOCATED) {
			err = take_kind(export, buf, event.block);
		} else if (!err && event.kind == BLOCK_FREED) {
			export->live_bytes -= size_of(export, event.block);
		} else if (!err) {
			heaptrack_kinds_finish(&export->kinds, buf);
			block_events_rewind(export->events);
			export->stage = EVENTS;
		}
	}
	return err;
}

static void put_time(struct heaptrack_export *export, struct buf *buf, uint64_t time_ns)
{
	if (time_ns / NS_PER_MS <= export->ms)
		return;
	export->ms = time_ns / NS_PER_MS;
	put_line(buf, 'c', export->ms);
}

/* Writes the samples of resident memory up to that time, and then the time. */
static void advance_time(struct heaptrack_export *export, struct buf *buf, uint64_t time_ns)
{
	uint32_t count;
	const struct memory_sample *samples = recording_memory(export->recording, &count);

	for (; export->memory_count < count && samples[export->memory_count].time_ns <= time_ns;
	     export->memory_count++) {
		put_time(export, buf, samples[export->memory_count].time_ns);
		put_line(buf, 'R', samples[export->memory_count].resident / PAGE);
	}
	put_time(export, buf, time_ns);
}

/* Whether a block's free is written right behind its allocation (heaptrack_export.h). */
static bool freed_at_once(const struct heaptrack_export *export, uint64_t block)
{
	const struct block_columns *blocks = export->blocks;
	bool in_peak = block < export->peak_block && blocks->free_turn[block] > export->peak_block;

	return block_bits_has(export->temporary, block) && !in_peak &&
	       blocks->freed_ns[block] - blocks->allocated_ns[block] <= TOGETHER_NS;
}

static void put_free(struct heaptrack_export *export, struct buf *buf, uint64_t block)
{
	uint32_t kind = export->kinds.of[block];
	bool temporary = block == export->last_block && block_bits_has(export->temporary, block);

	if (kind == export->last_kind && !temporary) {
		if (kind)
			put_line(buf, '-', heaptrack_kinds_nothing(&export->kinds));
		else
			kind = heaptrack_kinds_other_first(&export->kinds);
	}
	put_line(buf, '-', kind);
	export->last_kind = 0;
	export->last_block = UINT64_MAX;
}

static void put_allocation(struct heaptrack_export *export, struct buf *buf, uint64_t block)
{
	export->last_kind = export->kinds.of[block];
	export->last_block = block;
	put_line(buf, '+', export->last_kind);
	if (freed_at_once(export, block))
		put_free(export, buf, block);
}

static struct err *put_events(struct heaptrack_export *export, struct buf *buf, bool *done)
{
	struct block_event event = {0};
	struct err *err = NULL;

	for (int i = 0; !err && !*done && i < EVENTS_AT_A_TIME; i++) {
		err = block_events_next(export->events, &event);
		if (err)
			return err;
		*done = event.kind == BLOCK_EVENTS_END;
		advance_time(export, buf,
			     *done ? recording_facts(export->recording)->duration_ns
				   : event.time_ns);
		if (event.kind == BLOCK_ALLOCATED)
			put_allocation(export, buf, event.block);
		else if (event.kind == BLOCK_FREED && !freed_at_once(export, event.block))
			put_free(export, buf, event.block);
	}
	return err;
}

struct err *heaptrack_export_more(struct heaptrack_export *export, struct buf *buf, bool *done)
{
	*done = false;
	// create() succeeded, so it is there. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
	switch (export->stage) {
	case HEAD:
		put_head(export, buf);
		return NULL;
	case KINDS:
		return put_kinds(export, buf);
	default:
		return put_events(export, buf, done);
	}
}

struct err *heaptrack_export_write(struct buf *buf, struct symbolized *symbolized,
				   const struct filter_match *match)
{
	cleanup(heaptrack_export_destroy_at) struct heaptrack_export *export = NULL;
	struct err *err = heaptrack_export_create(symbolized, match, &export);
	bool done = false;

	while (!err && !done)
		err = heaptrack_export_more(export, buf, &done);
	return err;
}
