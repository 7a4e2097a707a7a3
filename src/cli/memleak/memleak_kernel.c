#include "cli/memleak/memleak_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/memleak/memleak_parts.h"
#include "cli/memleak/memleak_run.h"
#include "ebpf/kernel/kernel_tracer.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
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

static struct err *fill_parts(const struct memleak_wanted *wanted,
			      const struct kernel_tracer *tracer,
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

static struct err *memleak_kernel_report(const struct memleak_wanted *wanted,
					 struct kernel_tracer *tracer, struct buf *out)
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
		err = fill_parts(wanted, tracer, &all, &parts);
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

struct session {
	const struct memleak_wanted *wanted;
	struct buf *out, *notes;
	struct kernel_tracer *tracer;
	int signals;         /* a descriptor that is readable when we are told to end */
	uint64_t lines_lost; /* that was said */
};

static void session_deinit(struct session *session)
{
	kernel_tracer_destroy(session->tracer);
	if (session->signals >= 0)
		close(session->signals);
}

static void on_call(void *argument, const struct event *event)
{
	memleak_line_write(((struct session *)argument)->out, event);
}

/* Hands what was written to the reader now: an interval may be long. */
static struct err *flush_texts(struct session *session)
{
	struct err *err = buf_finish(session->out);

	return err || session->notes == session->out ? err : buf_finish(session->notes);
}

static struct err *begin_session(struct session *session)
{
	const struct memleak_wanted *wanted = session->wanted;
	const struct kernel_options options = {
		.min_size = wanted->tracer.min_size,
		.max_size = wanted->tracer.max_size,
		.sample_rate = wanted->tracer.sample_rate,
		.blocks_max = wanted->tracer.blocks_max,
		.stacks_max = wanted->tracer.stacks_max,
		.depth = wanted->tracer.depth,
		.combined = wanted->tracer.combined,
		.trace = wanted->tracer.trace,
		.percpu = wanted->percpu,
		.all_pages = wanted->all_pages,
	};
	struct err *err;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	session->signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (session->signals < 0)
		return err_create_errno(errno, "a descriptor for signals");
	err = kernel_tracer_create(&options, on_call, session, &session->tracer);
	if (err)
		return err;
	buf_text(session->notes, "Tracing kmalloc, caches and pages");
	buf_text(session->notes, wanted->percpu ? ", memory by processor.\n" : ".\n");
	if (kernel_tracer_blind(session->tracer))
		buf_printf(session->notes,
			   "Frees of many objects at once are not visible: the kernel does not let "
			   "its functions be traced (%s).\n",
			   kernel_tracer_blind(session->tracer));
	if (!kernel_tracer_knows_pages(session->tracer))
		buf_text(session->notes,
			 "What pages are used for is unknown (that needs root): those of programs "
			 "and files are left out.\n");
	return flush_texts(session);
}

/* Waits for a signal, for lines to print, or until that time. Returns whether to go on. */
static bool wait_until(const struct session *session, uint64_t until_ns)
{
	uint64_t now = now_ns();
	struct pollfd watched[] = {
		{.fd = session->signals, .events = POLLIN},
		{.fd = kernel_tracer_descriptor(session->tracer), .events = POLLIN},
	};
	uint64_t ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;

	poll(watched, session->wanted->tracer.trace ? 2 : 1, ms < INT32_MAX ? (int)ms : INT32_MAX);
	return !watched[0].revents;
}

static void say_missing_lines(struct session *session)
{
	uint64_t lost = kernel_tracer_lost(session->tracer).events;

	if (lost > session->lines_lost)
		buf_printf(session->notes,
			   "WARNING: %" PRIu64
			   " lines are missing: they came faster than they could be printed\n",
			   lost - session->lines_lost);
	session->lines_lost = lost;
}

static struct err *report_kernel(struct session *session)
{
	struct err *err = NULL;

	if (session->wanted->tracer.trace)
		say_missing_lines(session);
	else
		err = memleak_kernel_report(session->wanted, session->tracer, session->out);
	return err ? err : flush_texts(session);
}

static struct err *trace_kernel(struct session *session)
{
	const struct memleak_wanted *wanted = session->wanted;
	uint64_t next = now_ns() + wanted->interval_ns, reports = 0;
	struct err *err = NULL;

	while (!err && wait_until(session, next)) {
		err = kernel_tracer_poll(session->tracer);
		if (!err)
			err = flush_texts(session);
		if (err || now_ns() < next)
			continue;
		err = report_kernel(session);
		if (err || ++reports == wanted->count)
			return err;
		next += wanted->interval_ns;
	}
	if (err)
		return err;
	// What is allocated from here on is our own.
	kernel_tracer_stop(session->tracer);
	err = kernel_tracer_poll(session->tracer);
	return err ? err : report_kernel(session);
}

int memleak_kernel(const struct memleak_wanted *wanted, struct buf *out, struct buf *notes)
{
	cleanup(session_deinit) struct session session = {
		.wanted = wanted, .out = out, .notes = notes, .signals = -1};
	struct err *err = begin_session(&session);

	return cli_report_err(err ? err : trace_kernel(&session));
}
