#include "cli/memleak/memleak_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/memleak/memleak_kernel_report.h"
#include "cli/memleak/memleak_line.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"

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
static struct err *flush(struct session *session)
{
	struct err *err = buf_finish(session->out);

	return err || session->notes == session->out ? err : buf_finish(session->notes);
}

static struct err *begin(struct session *session)
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
	return flush(session);
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

static struct err *report(struct session *session)
{
	struct err *err = NULL;

	if (session->wanted->tracer.trace)
		say_missing_lines(session);
	else
		err = memleak_kernel_report(session->wanted, session->tracer, session->out);
	return err ? err : flush(session);
}

static struct err *trace(struct session *session)
{
	const struct memleak_wanted *wanted = session->wanted;
	uint64_t next = now_ns() + wanted->interval_ns, reports = 0;
	struct err *err = NULL;

	while (!err && wait_until(session, next)) {
		err = kernel_tracer_poll(session->tracer);
		if (!err)
			err = flush(session);
		if (err || now_ns() < next)
			continue;
		err = report(session);
		if (err || ++reports == wanted->count)
			return err;
		next += wanted->interval_ns;
	}
	if (err)
		return err;
	// What is allocated from here on is our own.
	kernel_tracer_stop(session->tracer);
	err = kernel_tracer_poll(session->tracer);
	return err ? err : report(session);
}

int memleak_kernel(const struct memleak_wanted *wanted, struct buf *out, struct buf *notes)
{
	cleanup(session_deinit) struct session session = {
		.wanted = wanted, .out = out, .notes = notes, .signals = -1};
	struct err *err = begin(&session);

	return cli_report_err(err ? err : trace(&session));
}
