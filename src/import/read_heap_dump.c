/*
 * Heap profiles as text: jemalloc's (prof.dump), and those of gperftools and tcmalloc. Sums of
 * stacks, of which there are addresses alone, the innermost first; behind them /proc/PID/maps.
 *
 *	heap_v2/524288                                 jemalloc: mean bytes between samples
 *	  t*: 13: 6688 [26: 13376]                     all: live blocks: bytes [allocated: bytes]
 *	@ 0x55d7 0x7f02                                a stack,
 *	  t*: 1: 512 [2: 1024]                         its sums,
 *	  t0: 1: 512 [2: 1024]                         and those of single threads
 *
 *	heap profile: 13: 6688 [26: 13376] @ heapprofile      gperftools; or @ heap_v2/524288
 *	     1: 512 [2: 1024] @ 0x55d7 0x7f02
 *
 * A sample of one in so many bytes has a block of n bytes with the probability 1 - exp(-n/mean).
 * Each that it has stands for one divided by that, as in jeprof.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "import/maps.h"
#include "import/reader.h"
#include "import/stack.h"

struct heap_dump {
	struct import_text *text;
	struct import_sink *sink;
	uint64_t mean; /* bytes between samples; 0: each block is there */
	uint32_t known;
	bool counted; /* the totals say that something is live */
	struct import_stack stack;
};

static void heap_dump_deinit(struct heap_dump *dump)
{
	import_stack_deinit(&dump->stack);
}

bool read_jemalloc_knows(struct span head)
{
	return span_begins(head, "heap_v2/");
}

bool read_gperftools_knows(struct span head)
{
	return span_begins(head, "heap profile: ");
}

/* Takes all mappings first: stacks need the files that their addresses are in. */
static struct err *take_mappings(struct heap_dump *dump)
{
	struct import_text *text = dump->text;
	bool more = true, found = false, unused;
	struct err *err = NULL;

	while (!err && more) {
		err = import_text_line(text, &more);
		if (!err && more && found)
			err = import_maps_line(dump->sink, text_rest(text), &unused);
		else if (!err && more)
			found = text_take(text, "MAPPED_LIBRARIES:");
	}
	return err ? err : import_text_rewind(text);
}

/* Makes a live count, or an allocated one, that of all blocks of which it is a sample. */
static void scale(const struct heap_dump *dump, uint64_t *blocks, uint64_t *bytes)
{
	double factor;

	if (!dump->mean || !*blocks || !*bytes)
		return;
	factor = -1 / expm1(-(double)*bytes / (double)*blocks / (double)dump->mean);
	*blocks = (uint64_t)llround((double)*blocks * factor);
	*bytes = (uint64_t)llround((double)*bytes * factor);
}

/* Takes "1: 512 [2: 1024]". */
static struct err *take_counts(struct import_text *text, struct sink_sum *sum)
{
	uint64_t *values = sum->values;

	text_skip_blanks(text);
	if (!text_decimal(text, &values[TRACE_SUM_LIVE_BLOCKS]) || !text_take(text, ":"))
		return import_text_expected(text, "a number of blocks and ':'");
	text_skip_blanks(text);
	if (!text_decimal(text, &values[TRACE_SUM_LIVE_BYTES]))
		return import_text_expected(text, "a number of bytes");
	text_skip_blanks(text);
	if (!text_take(text, "["))
		return import_text_expected(text, "'['");
	text_skip_blanks(text);
	if (!text_decimal(text, &values[TRACE_SUM_CALLS]) || !text_take(text, ":"))
		return import_text_expected(text, "a number of allocations and ':'");
	text_skip_blanks(text);
	if (!text_decimal(text, &values[TRACE_SUM_BYTES]) || !text_take(text, "]"))
		return import_text_expected(text, "a number of bytes and ']'");
	return NULL;
}

/* Takes the totals. They tell whether the dump knows what was allocated in all. */
static struct err *take_totals(struct heap_dump *dump)
{
	struct sink_sum totals = {0};
	struct err *err = take_counts(dump->text, &totals);

	dump->counted = totals.values[TRACE_SUM_LIVE_BLOCKS];
	dump->known = 1u << TRACE_SUM_LIVE_BLOCKS | 1u << TRACE_SUM_LIVE_BYTES;
	if (totals.values[TRACE_SUM_CALLS])
		dump->known |= 1u << TRACE_SUM_CALLS | 1u << TRACE_SUM_BYTES;
	return err;
}

/* The totals of a dump that was cut off are those of the whole. */
static struct err *check_stacks(const struct heap_dump *dump)
{
	if (!dump->counted || sink_is_aggregate(dump->sink))
		return NULL;
	return err_create("%s: line %" PRIu64 ": '@' and a stack was expected, where it ends",
			  dump->text->name, dump->text->line);
}

/* Takes the addresses of a stack, the innermost first. */
static struct err *take_stack(struct heap_dump *dump)
{
	struct import_text *text = dump->text;
	struct err *err;
	uint64_t address;

	dump->stack.frames.count = 0;
	for (text_skip_blanks(text); text_left(text); text_skip_blanks(text)) {
		if (!text_address(text, &address))
			return import_text_expected(text, "an address");
		err = import_stack_push(&dump->stack, 0, address);
		if (err)
			return err;
	}
	import_stack_turn(&dump->stack);
	return NULL;
}

static struct err *put_sum(struct heap_dump *dump, struct sink_sum *sum)
{
	sum->known = dump->known;
	scale(dump, &sum->values[TRACE_SUM_LIVE_BLOCKS], &sum->values[TRACE_SUM_LIVE_BYTES]);
	scale(dump, &sum->values[TRACE_SUM_CALLS], &sum->values[TRACE_SUM_BYTES]);
	return sink_sum(dump->sink, dump->stack.frames.items, dump->stack.frames.count, sum);
}

static void tell(const struct heap_dump *dump, const char *name, struct import_story *story)
{
	if (dump->mean)
		snprintf(story->origin, sizeof(story->origin),
			 "a heap dump of %s, estimated from a sample of one in %" PRIu64 " bytes",
			 name, dump->mean);
	else
		snprintf(story->origin, sizeof(story->origin), "a heap dump of %s", name);
}

static struct err *take_mean(struct heap_dump *dump)
{
	if (!text_decimal(dump->text, &dump->mean))
		return import_text_expected(dump->text, "the bytes between samples");
	dump->mean = dump->mean > 1 ? dump->mean : 0;
	return NULL;
}

/* Goes to the next line. *more false: stacks are over. */
static struct err *next_line(struct import_text *text, bool *more)
{
	struct err *err = import_text_line(text, more);

	if (!err && *more && text_take(text, "MAPPED_LIBRARIES:"))
		*more = false;
	return err;
}

static struct err *read_jemalloc_stacks(struct heap_dump *dump)
{
	struct import_text *text = dump->text;
	struct sink_sum sum = {0};
	bool more;
	struct err *err = next_line(text, &more);

	if (!err && (!more || !text_take(text, "  t*:")))
		return import_text_expected(text, "'  t*:' and the totals");
	if (!err)
		err = take_totals(dump);
	if (!err)
		err = next_line(text, &more);
	while (!err && more) {
		if (text_take(text, "@")) {
			err = take_stack(dump);
		} else if (text_take(text, "  t*:")) {
			err = take_counts(text, &sum);
			if (!err)
				err = put_sum(dump, &sum);
		} else if (text_left(text) && !text_take(text, "  t")) {
			err = import_text_expected(text, "'@' and a stack, or '  t'");
		}
		if (!err)
			err = next_line(text, &more);
	}
	return err ? err : check_stacks(dump);
}

struct err *read_jemalloc(struct import_input *input, struct import_sink *sink,
			  struct import_story *story)
{
	cleanup(heap_dump_deinit) struct heap_dump dump = {.text = &input->text, .sink = sink};
	bool more;
	struct err *err = take_mappings(&dump);

	if (!err)
		err = import_text_line(&input->text, &more);
	if (!err)
		text_take(&input->text, "heap_v2/");
	if (!err)
		err = take_mean(&dump);
	if (!err)
		err = read_jemalloc_stacks(&dump);
	tell(&dump, "jemalloc", story);
	return err;
}

struct err *read_gperftools(struct import_input *input, struct import_sink *sink,
			    struct import_story *story)
{
	cleanup(heap_dump_deinit) struct heap_dump dump = {.text = &input->text, .sink = sink};
	struct import_text *text = &input->text;
	struct sink_sum sum = {0};
	bool more;
	struct err *err = take_mappings(&dump);

	if (!err)
		err = import_text_line(text, &more);
	if (!err)
		text_take(text, "heap profile:");
	if (!err)
		err = take_totals(&dump);
	if (!err && text_take(text, " @ heap_v2/"))
		err = take_mean(&dump);
	if (!err)
		err = next_line(text, &more);
	while (!err && more) {
		if (text_left(text)) {
			err = take_counts(text, &sum);
			if (!err && !text_take(text, " @"))
				err = import_text_expected(text, "'@' and a stack");
			if (!err)
				err = take_stack(&dump);
			if (!err)
				err = put_sum(&dump, &sum);
		}
		if (!err)
			err = next_line(text, &more);
	}
	tell(&dump, "gperftools", story);
	return err ? err : check_stacks(&dump);
}
