#include "cli/memleak/memleak_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/memleak/memleak_process.h"
#include "cli/run/run_child.h"
#include "ebpf/target/launch.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/now.h"

#define TRACED_MAX 256

/* How long what -c started has to end after SIGTERM. */
#define PATIENCE_MS 2000

/* How often to look whether a program that was just executed has an allocator. */
#define RETRY_NS 2000000ull

struct memleak {
	const struct memleak_wanted *wanted;
	struct buf *out, *notes;
	struct memleak_around around;
	VEC(struct memleak_process *) list; /* the first is the one that was asked for */
	VEC(pid_t) forked;                  /* children to be traced */
	uint64_t not_followed;
	uint64_t lines_lost; /* that was said */
	int signals;
	int signal; /* that ended us, or 0 */
	bool held;  /* the program of -c has not been let go yet */
};

static void memleak_deinit(struct memleak *memleak)
{
	for (size_t i = 0; i < memleak->list.count; i++)
		memleak_process_destroy(memleak->list.items[i]);
	vec_deinit(&memleak->list);
	vec_deinit(&memleak->forked);
	if (memleak->signals >= 0)
		close(memleak->signals);
}

/* Hands what was written to the reader now: an interval may be long. */
static struct err *flush_texts(struct memleak *memleak)
{
	struct err *err = buf_finish(memleak->out);

	return err || memleak->notes == memleak->out ? err : buf_finish(memleak->notes);
}

static void on_fork(void *argument, pid_t child)
{
	struct memleak *memleak = argument;

	if (!memleak->wanted->follow)
		memleak->not_followed++;
	else if (memleak->list.count + memleak->forked.count >= TRACED_MAX ||
		 !vec_push(&memleak->forked, child))
		memleak->not_followed++;
}

/* Adds it to the list, not attached yet. NULL: no memory. */
static struct memleak_process *add_process(struct memleak *memleak, pid_t pid)
{
	struct memleak_process *process = NULL;
	struct err *err = vec_reserve(&memleak->list, 1)
				  ? memleak_process_create(&memleak->around, pid, &process)
				  : err_no_memory();

	err_destroy(err);
	if (process)
		memleak->list.items[memleak->list.count++] = process;
	return process;
}

/* For -t: says how many lines are missing since it was said last. */
static void say_missing_lines(struct memleak *memleak)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < memleak->list.count; i++)
		if (memleak->list.items[i]->tracer)
			lost += tracer_losses(memleak->list.items[i]->tracer).events;
	if (lost > memleak->lines_lost)
		buf_printf(memleak->notes,
			   "WARNING: %" PRIu64
			   " lines are missing: they came faster than they could "
			   "be printed\n",
			   lost - memleak->lines_lost);
	memleak->lines_lost = lost;
}

/* ended: of the process that was asked for. */
static struct err *report_processes(struct memleak *memleak, bool ended)
{
	struct err *err = NULL;

	if (memleak->wanted->tracer.trace) {
		say_missing_lines(memleak);
		return NULL;
	}
	for (size_t i = 0; !err && i < memleak->list.count; i++) {
		struct memleak_process *process = memleak->list.items[i];

		if (process->tracer)
			err = memleak_process_report(process, ended && i == 0);
	}
	if (!err && memleak->not_followed) {
		buf_printf(memleak->notes, "%" PRIu64 " %s not traced%s.\n", memleak->not_followed,
			   memleak->not_followed == 1 ? "child of it is" : "children of it are",
			   memleak->wanted->follow ? ": there are too many" : " (--follow)");
		memleak->not_followed = 0;
	}
	return err;
}

static bool is_known(const struct memleak *memleak, pid_t pid)
{
	for (size_t i = 0; i < memleak->list.count; i++)
		if (memleak->list.items[i]->pid == pid)
			return true;
	return false;
}

/* Looks after all processes once. *waiting: one is without its tracer. */
static struct err *look_after(struct memleak *memleak, bool *waiting)
{
	struct err *err = NULL;

	*waiting = false;
	for (size_t i = 0; !err && i < memleak->list.count; i++) {
		struct memleak_process *process = memleak->list.items[i];

		if (process->gone)
			continue;
		if (process->tracer)
			err = tracer_poll(process->tracer);
		if (!err && (process->executed || !process->tracer))
			memleak_process_start_again(process);
		*waiting = *waiting || (!process->tracer && !process->gone);
	}
	while (!err && memleak->forked.count) {
		pid_t pid = memleak->forked.items[--memleak->forked.count];
		struct memleak_process *process;

		if (is_known(memleak, pid))
			continue;
		process = add_process(memleak, pid);
		if (!process)
			return err_no_memory();
		memleak_process_add_children(process);
		process->fresh = true;
		memleak_process_start_again(process);
	}
	return err;
}

/* Waits until something happens, or that time comes. */
static void wait_until(struct memleak *memleak, uint64_t time)
{
	struct pollfd list[2 * TRACED_MAX + 1] = {{.fd = memleak->signals, .events = POLLIN}};
	nfds_t count = 1;
	uint64_t now = now_ns();
	uint64_t left = time > now ? time - now : 0;
	const struct timespec timeout = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

	for (size_t i = 0; i < memleak->list.count && i < TRACED_MAX; i++) {
		const struct memleak_process *process = memleak->list.items[i];

		if (process->gone)
			continue;
		list[count++] = (struct pollfd){.fd = process->ended, .events = POLLIN};
		if (process->tracer)
			list[count++] = (struct pollfd){.fd = tracer_descriptor(process->tracer),
							.events = POLLIN};
	}
	ppoll(list, count, &timeout, NULL);
}

/* Whether a signal came that ends us. */
static bool is_told_to_end(struct memleak *memleak)
{
	struct signalfd_siginfo info;

	while (read(memleak->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			memleak->signal = (int)info.ssi_signo;
	return memleak->signal != 0;
}

/* Children that have ended are reported once more, then forgotten. */
static struct err *bury(struct memleak *memleak, bool *over)
{
	struct err *err = NULL;

	for (size_t i = memleak->list.count; !err && i-- > 0;) {
		struct memleak_process *process = memleak->list.items[i];

		if (!memleak_process_has_ended(process))
			continue;
		if (i == 0) {
			*over = true;
			continue;
		}
		if (process->tracer)
			err = tracer_stop(process->tracer);
		if (!err && process->tracer && !memleak->wanted->tracer.trace)
			err = memleak_process_report(process, true);
		else if (!process->tracer && !process->gone)
			buf_printf(memleak->notes,
				   "Process %d (%s), a child, ended before it could be traced.\n",
				   (int)process->pid, process->name);
		memleak->list.items[i] = memleak->list.items[--memleak->list.count];
		memleak_process_destroy(process);
	}
	return err;
}

/* Until the process has ended, a signal comes, or all reports are made. */
static struct err *trace_processes(struct memleak *memleak, bool *ended)
{
	const struct memleak_wanted *wanted = memleak->wanted;
	uint64_t next = now_ns() + wanted->interval_ns;
	uint64_t reports = 0;
	struct err *err = NULL;

	*ended = false;
	while (!err) {
		bool waiting = false, over = false;

		err = look_after(memleak, &waiting);
		if (!err)
			err = bury(memleak, &over);
		if (err || over || is_told_to_end(memleak)) {
			*ended = over;
			break;
		}
		if (now_ns() >= next) {
			err = report_processes(memleak, false);
			next += wanted->interval_ns;
			if (!err && ++reports == wanted->count)
				return flush_texts(memleak);
		}
		if (!err)
			err = flush_texts(memleak);
		if (!err)
			wait_until(memleak, waiting && now_ns() + RETRY_NS < next
						    ? now_ns() + RETRY_NS
						    : next);
	}
	for (size_t i = 0; !err && i < memleak->list.count; i++)
		if (memleak->list.items[i]->tracer)
			err = tracer_stop(memleak->list.items[i]->tracer);
	if (!err)
		err = report_processes(memleak, *ended);
	return err ? err : flush_texts(memleak);
}

static struct err *begin_tracing(struct memleak *memleak)
{
	const struct memleak_wanted *wanted = memleak->wanted;
	struct memleak_process *process = add_process(memleak, wanted->pid);
	struct err *err;
	sigset_t mask;

	if (!process)
		return err_no_memory();
	// Each file that a process has mapped is kept open. What -c started has its own limit.
	descriptors_raise();
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	memleak->signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (memleak->signals < 0)
		return err_create_errno(errno, "a descriptor for signals");
	err = memleak_process_attach(process);
	if (!err && wanted->command) {
		err = launch_release(wanted->pid);
		memleak->held = err != NULL;
	}
	if (err)
		return err;
	memleak_process_say_hooked(process);
	memleak_process_add_children(process);
	return flush_texts(memleak);
}

/* Ends what -c started. Returns the exit status. */
static int end_child(struct memleak *memleak, bool ended)
{
	struct run_child_end end = {.pid = memleak->wanted->pid};

	// One that is held does not see SIGTERM, and has done nothing yet.
	if (!ended)
		kill(end.pid, memleak->held ? SIGKILL : SIGTERM);
	if (!ended && memleak->list.count) {
		struct pollfd gone = {.fd = memleak->list.items[0]->ended, .events = POLLIN};

		if (poll(&gone, 1, PATIENCE_MS) == 0)
			kill(end.pid, SIGKILL);
	}
	while (waitpid(end.pid, &end.wait_status, 0) < 0 && errno == EINTR)
		;
	return ended ? run_child_status(&end) : CLI_OK;
}

int memleak_trace(const struct memleak_wanted *wanted, struct buf *out, struct buf *notes)
{
	cleanup(memleak_deinit) struct memleak memleak = {.wanted = wanted,
							  .out = out,
							  .notes = notes,
							  .signals = -1,
							  .held = wanted->command};
	bool ended = false;
	struct err *err;

	memleak.around = (struct memleak_around){wanted, out, notes, &memleak, on_fork};
	err = begin_tracing(&memleak);

	if (!err)
		err = trace_processes(&memleak, &ended);
	if (!err && ended) {
		buf_printf(notes, "Process %d (%s) has ended.\n", (int)wanted->pid,
			   memleak.list.items[0]->name);
		err = flush_texts(&memleak);
	}
	if (wanted->command) {
		int status = end_child(&memleak, ended);

		return err ? cli_report_err(err) : status;
	}
	return cli_report_err(err);
}
