#include "cli/memleak/memleak_kernel_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "cli/memleak/memleak_parts.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"

/* Why a stack's numbers are too high. */
#define DOUBT "most of these are freed already: see the warning"

/* Uses of pages that a report lists. The names are those of its JSON. */
static const struct {
	enum page_use use;
	const char *name, *text;
} uses[] = {
	{PAGE_PROGRAM, "program", "memory of programs"},
	{PAGE_FILE, "file", "page cache, shared memory"},
	{PAGE_TABLE, "table", "page tables"},
	{PAGE_SLAB, "slab", "slabs, whose objects are counted above"},
	{PAGE_KERNEL, "movable", "movable pages of the kernel"},
};
#define USES (ARRAY_COUNT(uses))

/* The parts of a report that only the kernel's has. */
struct kernel_parts {
	struct memleak_parts parts;
	struct memleak_pages pages[USES];
	size_t page_count;
	VEC(struct memleak_cache) caches;
};

static void kernel_parts_deinit(struct kernel_parts *parts)
{
	memleak_parts_deinit(&parts->parts);
	vec_deinit(&parts->caches);
}

static struct err *add_stack(struct memleak_parts *parts, const struct kernel_tracer *tracer,
			     const struct outstanding_stack *from)
{
	struct memleak_stack stack = {
		.bytes = from->bytes,
		.blocks = from->blocks,
		.cut = from->end == STACK_TOO_DEEP ? "deeper than is kept (--perf-max-stack-depth)"
						   : NULL,
		.cache = kernel_tracer_cache(tracer, from->source),
		.doubt = from->doubted ? DOUBT : NULL,
		.lost = from->number == STACK_NONE,
		.first_frame = parts->frames.count,
		.frame_count = from->frame_count,
	};

	for (uint32_t i = 0; i < from->frame_count; i++) {
		struct memleak_frame frame = {.address = from->frames[i]};
		struct kernel_name name;

		if (kernel_symbols_find(kernel_tracer_symbols(tracer), frame.address, &name)) {
			frame.function = name.function;
			frame.offset = name.offset;
			frame.module = name.module;
		}
		if (!vec_push(&parts->frames, frame))
			return err_no_memory();
	}
	return vec_push(&parts->stacks, stack) ? NULL : err_no_memory();
}

static struct err *add_losses(struct memleak_parts *parts, const struct kernel_tracer *tracer)
{
	const struct kernel_lost lost = kernel_tracer_lost(tracer);
	const struct {
		uint64_t count;
		const char *text;
	} losses[] = {
		{lost.blocks, "allocations are not counted: the table of live blocks was full "
			      "(--blocks makes it larger)"},
		{lost.stacks, "allocations have no stack: there was no room for more stacks "
			      "(--stack-storage-size makes it larger)"},
		{lost.scratch, "allocations have no stack: interrupts took too many at once"},
		{lost.mistaken, "stacks turned out to be others when they were checked: up to 256 "
				"allocations each are with a similar stack"},
		{lost.interrupted, "calls, at most, were not seen, as they interrupted the tracing "
				   "itself: allocations are missing"},
		{lost.events, "lines of -t are missing: they came faster than they could be "
			      "printed"},
	};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_COUNT(losses); i++)
		err = memleak_parts_warn(parts, losses[i].count, losses[i].text);
	return err;
}

/* A cache that has fewer objects than are counted. */
static struct err *add_doubt(struct kernel_parts *parts, const struct kernel_tracer *tracer,
			     const struct kernel_doubt *doubt)
{
	struct buf line = BUF_EMPTY;
	struct err *err;

	buf_printf(&line, "%s: %s outstanding, but the cache %s by %s: ", doubt->name,
		   format_count(doubt->outstanding, true).text, doubt->grew < 0 ? "shrank" : "grew",
		   format_count((uint64_t)llabs(doubt->grew), true).text);
	buf_text(&line, kernel_tracer_blind(tracer)
				? "frees in bulk, such as by RCU, are not visible here"
				: "some frees were not seen");
	err = buf_string(&line) ? memleak_parts_warn_text(&parts->parts, buf_string(&line))
				: err_no_memory();
	buf_deinit(&line);
	if (!err && !vec_push(&parts->caches,
			      (struct memleak_cache){doubt->name, doubt->outstanding, doubt->grew}))
		err = err_no_memory();
	return err;
}

static int by_bytes(const void *left, const void *right)
{
	const struct memleak_pages *a = left, *b = right;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static void add_pages(struct kernel_parts *parts, const struct kernel_outstanding *all)
{
	for (size_t i = 0; i < USES; i++) {
		const struct kernel_pages *pages = &all->pages[uses[i].use];

		if (pages->pages)
			parts->pages[parts->page_count++] = (struct memleak_pages){
				uses[i].name, uses[i].text, pages->bytes, pages->pages};
	}
	qsort(parts->pages, parts->page_count, sizeof(parts->pages[0]), by_bytes);
}

static struct err *fill(const struct memleak_wanted *wanted, const struct kernel_tracer *tracer,
			const struct kernel_outstanding *all, struct kernel_parts *parts)
{
	size_t shown = all->all.stacks.count;
	struct err *err = NULL;

	if (wanted->top && shown > wanted->top)
		shown = (size_t)wanted->top;
	for (size_t i = 0; !err && i < shown; i++)
		err = add_stack(&parts->parts, tracer, &all->all.stacks.items[i]);
	if (!err)
		err = memleak_parts_add_blocks(&parts->parts, &all->all);
	if (!err)
		err = add_losses(&parts->parts, tracer);
	for (size_t i = 0; !err && i < all->doubts.count; i++)
		err = add_doubt(parts, tracer, &all->doubts.items[i]);
	add_pages(parts, all);
	return err;
}

struct err *memleak_kernel_report(const struct memleak_wanted *wanted, struct kernel_tracer *tracer,
				  struct buf *out)
{
	cleanup(kernel_outstanding_deinit) struct kernel_outstanding all = {0};
	cleanup(kernel_parts_deinit) struct kernel_parts parts = {0};
	struct memleak_view view = {.kernel = true,
				    .name = "kernel",
				    .no_stacks = !wanted->tracer.depth,
				    .sample_rate = wanted->tracer.sample_rate,
				    .older_ms = wanted->older_ns / 1000000};
	struct err *err = kernel_tracer_read(tracer, wanted->older_ns, wanted->list_blocks,
					     wanted->by_count, &all);

	if (!err)
		err = fill(wanted, tracer, &all, &parts);
	if (err)
		return err;
	memleak_parts_sum(&all.all, &view);
	view.gone = all.gone + kernel_tracer_lost(tracer).reused;
	view.pages = parts.pages;
	view.page_count = parts.page_count;
	view.caches = parts.caches.items;
	view.cache_count = parts.caches.count;
	memleak_parts_write(&parts.parts, wanted, &view, out);
	return NULL;
}
