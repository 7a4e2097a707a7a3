#include "report/text/errors_text.h"

#include <inttypes.h>

#include "report/words/format.h"
#include "report/text/pools_text.h"
#include "report/text/text_stack.h"
#include "trace/operation.h"

#define INDENT 5

const char *errors_text_function(uint8_t operation)
{
	const char *name = operation_name(operation);

	return name ? name : "?";
}

/*
 * Writes what happened: "free of an address that was never allocated", with the functions as far as
 * known.
 */
static void put_what(struct buf *buf, const struct heap_error *error)
{
	const char *release = errors_text_function(error->release);

	switch (error->kind) {
	case HEAP_ERROR_NEVER_ALLOCATED:
		if (error->entry)
			buf_printf(buf, "%s of an address within a block", release);
		else
			buf_printf(buf, "%s of an address that was never allocated", release);
		break;
	case HEAP_ERROR_DOUBLE_FREE:
		buf_printf(buf, "%s of a block that was freed before", release);
		break;
	case HEAP_ERROR_MISMATCH:
		buf_printf(buf, "%s of a block made by %s", release,
			   errors_text_function(error->entry));
		break;
	}
}

static void put_first(struct buf *buf, const struct style *style, const struct recording *recording,
		      const struct heap_error *error)
{
	uint32_t thread_count;
	const struct recorded_thread *threads = recording_threads(recording, &thread_count);

	buf_repeat(buf, ' ', INDENT);
	style_begin(buf, style, STYLE_DIM);
	buf_printf(buf, "%s %s by thread %" PRIu32 ":\n", error->count > 1 ? "first at" : "at",
		   format_time(error->time_ns).text, threads[error->thread].tid);
	buf_repeat(buf, ' ', INDENT);
	for (uint64_t i = 0; i < error->count && i < HEAP_ERROR_ADDRESSES; i++)
		buf_printf(buf, "%s0x%" PRIx64, i ? ", " : "", error->addresses[i]);
	if (error->count > HEAP_ERROR_ADDRESSES)
		buf_text(buf, ", \xe2\x80\xa6");
	if (error->entry)
		buf_printf(buf, " (%s)", format_bytes(error->size, style->exact).text);
	if (error->offset)
		buf_printf(buf, ", %s behind its beginning",
			   format_bytes(error->offset, style->exact).text);
	style_end(buf, style);
	buf_char(buf, '\n');
}

/* Writes a stack. RECORDING_NONE: most likely it was not recorded, or it was empty. */
static struct err *put_stack(struct buf *buf, const struct style *style, const char *title,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t stack)
{
	if (stack == RECORDING_NONE)
		return NULL;
	buf_printf(buf, "   %s\n", title);
	return text_stack_write(buf, style, recording, symbolized, stack, INDENT, 0, NULL);
}

static struct err *put_error(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     const struct heap_error *error, uint32_t number)
{
	struct err *err = NULL;

	buf_printf(buf, "\n%3" PRIu32 ". ", number);
	style_begin(buf, style, STYLE_STRONG);
	put_what(buf, error);
	style_end(buf, style);
	if (error->count > 1)
		buf_printf(buf, ", %s times", format_count(error->count, style->exact).text);
	buf_char(buf, '\n');
	put_first(buf, style, recording, error);
	err = put_stack(buf, style, "freed by", recording, symbolized, error->freed);
	if (!err)
		err = put_stack(buf, style, "had been freed by", recording, symbolized,
				error->freed_once);
	if (!err && error->entry)
		err = put_stack(buf, style, "allocated by", recording, symbolized,
				error->allocated);
	return err;
}

/* Why the recording may not know a block. NULL: it knows all. */
static const char *excuse(const struct recording_facts *facts)
{
	if (recording_facts_have_gaps(facts))
		return "something of the recording is missing";
	if (facts->off_periods)
		return "allocations were not recorded for a while";
	if (facts->begun_by_start)
		return "the recording began after they were allocated";
	if (facts->begun_by_fork)
		return "the process began with the blocks of its parent";
	return NULL;
}

static void put_unjudged(struct buf *buf, const struct style *style,
			 const struct recording *recording, uint64_t unjudged)
{
	const char *reason = excuse(recording_facts(recording));

	if (!unjudged)
		return;
	if (!reason)
		reason = "the program went on, so its allocator knew them";
	style_printf(buf, style, STYLE_DIM, "\n%s of unknown blocks may be right: %s.\n",
		     format_counted(unjudged, "free", style->exact).text, reason);
}

/* Writes the frees of blocks that a pool of the program's own did not hold. */
static struct err *put_pool_errors(struct buf *buf, const struct style *style,
				   const struct recording *recording, struct symbolized *symbolized)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);
	const char *reason = excuse(recording_facts(recording));
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < count; i++) {
		const struct recorded_pool *pool = &pools[i];

		if (!pool->wrong_frees)
			continue;
		buf_char(buf, '\n');
		style_begin(buf, style, reason ? STYLE_DIM : STYLE_STRONG);
		pools_text_name(buf, pool);
		buf_printf(buf, ": %s of what it did not hold, the first at 0x%" PRIx64 "%s%s",
			   format_counted(pool->wrong_frees, "free", style->exact).text,
			   pool->wrong_address, reason ? ": may be right, " : "",
			   reason ? reason : "");
		style_end(buf, style);
		buf_char(buf, '\n');
		err = put_stack(buf, style, "freed by", recording, symbolized, pool->wrong_stack);
	}
	return err;
}

static void put_culled(struct buf *buf, const struct style *style,
		       const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	if (facts->stripped)
		style_printf(
			buf, style, STYLE_DIM,
			"\nThe recording is stripped: whether frees of blocks that are in sums "
			"only were right is\nnot known.\n");
	else if (facts->cull_ns)
		style_printf(
			buf, style, STYLE_DIM,
			"\nBlocks that lived shorter than %s were culled: whether their frees "
			"were right is not\nknown, and a second one is called one of an address "
			"never allocated.\n",
			format_time(facts->cull_ns).text);
}

static void put_total(struct buf *buf, const struct style *style, uint32_t count, uint64_t total,
		      bool sampled)
{
	if (count)
		style_printf(buf, style, STYLE_STRONG, "%s in all, of %s\n",
			     format_counted(total, "wrong free", style->exact).text,
			     format_counted(count, "kind", true).text);
	else if (sampled)
		buf_text(buf, "No wrong frees of the blocks that were recorded.\n");
	else
		buf_text(buf, "No wrong frees: none of an address never allocated, none done "
			      "twice, none by\nanother function than belongs to the allocation.\n");
}

struct err *errors_text_write(struct buf *buf, const struct style *style,
			      const struct recording *recording, struct symbolized *symbolized,
			      uint32_t top)
{
	uint64_t unjudged, total = 0;
	uint32_t count, shown;
	const struct heap_error *errors = recording_heap_errors(recording, &count, &unjudged);
	bool sampled = recording_facts(recording)->sample_mean;
	bool stacks_missing = false;
	struct err *err = NULL;

	shown = top && top < count ? top : count;
	for (uint32_t i = 0; i < count; i++) {
		total += errors[i].count;
		stacks_missing |= errors[i].freed == RECORDING_NONE;
	}
	put_total(buf, style, count, total, sampled);
	for (uint32_t i = 0; !err && i < shown; i++)
		err = put_error(buf, style, recording, symbolized, &errors[i], i + 1);
	if (shown < count)
		buf_printf(buf, "\n     \xe2\x80\xa6 %s more (--top N shows more)\n",
			   format_counted(count - shown, "kind", true).text);
	if (stacks_missing)
		style_printf(buf, style, STYLE_DIM,
			     "\nWhere they were freed is recorded by: mallow run --free-stacks\n");
	if (sampled)
		style_printf(buf, style, STYLE_DIM,
			     "\nOf a sample only frees by the wrong function are seen, of its "
			     "own blocks.\n");
	put_unjudged(buf, style, recording, unjudged);
	put_culled(buf, style, recording);
	return err ? err : put_pool_errors(buf, style, recording, symbolized);
}
