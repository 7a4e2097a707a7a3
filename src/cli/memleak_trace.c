#include "cli/memleak_trace.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/memleak_report.h"
#include "cli/run_child.h"
#include "ebpf/target/launch.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"

#define TRACED_MAX 256

/* How long what -c started has to end after SIGTERM. */
#define PATIENCE_MS 2000

/* After exec the new program has no allocator yet: how long and how often to look for one. */
#define RETRY_NS  2000000ull
#define RETRY_FOR 2000000000ull

/* A process that is traced. */
struct traced {
	struct memleak *owner;
	pid_t pid;
	char name[32];
	int ended;             /* a descriptor that is readable once the process has ended */
	struct tracer *tracer; /* NULL: not yet; it has executed another program */
	struct code_names *names;
	uint64_t retry_until; /* of those without tracer */
	bool gone, executed;
	bool fresh; /* a child that was not traced yet */
};

struct memleak {
	const struct memleak_wanted *wanted;
	struct buf *out, *notes;
	VEC(struct traced *) list; /* the first is the one that was asked for */
	VEC(pid_t) forked;         /* children to be traced */
	uint64_t not_followed;
	uint64_t lines_lost; /* that was said */
	int signals;
	int signal; /* that ended us, or 0 */
	bool held;  /* the program of -c has not been let go yet */
};

static void traced_destroy(struct traced *traced)
{
	tracer_destroy(traced->tracer);
	code_names_destroy(traced->names);
	if (traced->ended >= 0)
		close(traced->ended);
	free(traced);
}

static void memleak_deinit(struct memleak *memleak)
{
	for (size_t i = 0; i < memleak->list.count; i++)
		traced_destroy(memleak->list.items[i]);
	vec_deinit(&memleak->list);
	vec_deinit(&memleak->forked);
	if (memleak->signals >= 0)
		close(memleak->signals);
}

/* Hands what was written to the reader now: an interval may be long. */
static struct err *flush(struct memleak *memleak)
{
	struct err *err = buf_finish(memleak->out);

	return err || memleak->notes == memleak->out ? err : buf_finish(memleak->notes);
}

/* One line of -t. */
static void on_call(void *argument, const struct event *event)
{
	struct buf *out = ((struct traced *)argument)->owner->out;

	buf_printf(out, "%.16s-%u [%03u] %" PRIu64 ".%06u: ", event->name, event->tid, event->cpu,
		   event->time_ns / 1000000000, (unsigned)(event->time_ns / 1000 % 1000000));
	switch (event->kind) {
	case EVENT_ENTERED:
		buf_printf(out, "alloc entered, size = %" PRIu64 "\n", event->size);
		break;
	case EVENT_EXITED:
		buf_printf(out, "alloc exited, size = %" PRIu64 ", result = %" PRIx64 "\n",
			   event->size, event->address);
		break;
	default:
		buf_printf(out, "free entered, address = %" PRIx64 ", size = %" PRIu64 "\n",
			   event->address, event->size);
	}
}

static void on_fork(void *argument, pid_t child)
{
	struct memleak *memleak = ((struct traced *)argument)->owner;

	if (!memleak->wanted->follow)
		memleak->not_followed++;
	else if (memleak->list.count + memleak->forked.count >= TRACED_MAX ||
		 !vec_push(&memleak->forked, child))
		memleak->not_followed++;
}

static void on_exec(void *argument)
{
	((struct traced *)argument)->executed = true;
}

static void read_name(pid_t pid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);

	auto_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(name, (int)size, file))
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = 0;
}

static struct err *attach(struct traced *traced)
{
	const struct tracer_events events = {traced, on_call, on_fork, on_exec};
	struct target *target;
	struct err *err = target_open(traced->pid, &target);

	if (!err)
		err = tracer_create(target, &traced->owner->wanted->tracer, &events,
				    &traced->tracer);
	if (!err && !traced->names)
		err = code_names_create(&traced->names);
	if (err)
		return err;
	read_name(traced->pid, traced->name, sizeof(traced->name));
	return code_names_look(traced->names, tracer_target(traced->tracer));
}

/* Adds it to the list, not attached yet. NULL: no memory. */
static struct traced *add_process(struct memleak *memleak, pid_t pid)
{
	struct traced *traced = calloc(1, sizeof(*traced));

	if (!traced || !vec_reserve(&memleak->list, 1)) {
		free(traced);
		return NULL;
	}
	traced->owner = memleak;
	traced->pid = pid;
	read_name(pid, traced->name, sizeof(traced->name));
	traced->ended = (int)syscall(SYS_pidfd_open, pid, 0);
	memleak->list.items[memleak->list.count++] = traced;
	return traced;
}

/* What was hooked, a line for each module, and what could not be. */
static void say_hooked(struct memleak *memleak, const struct traced *traced)
{
	const struct target *target = tracer_target(traced->tracer);
	const struct hooks *hooks = tracer_hooks(traced->tracer);

	for (size_t i = 0; i < hooks->modules.count; i++) {
		const struct hooked_module *module = &hooks->modules.items[i];

		buf_printf(memleak->notes, "Probing %s in %s at %u places (%s).\n",
			   module->allocator, target->modules.items[module->module].path,
			   module->probes, probe_way_name(tracer_way(traced->tracer)));
	}
	for (size_t i = 0; i < hooks->unprobed.count; i++) {
		const struct unprobed_function *function = &hooks->unprobed.items[i];

		buf_printf(memleak->notes, "Not probed: %s in %s (%s); its blocks are not seen.\n",
			   function->name, target->modules.items[function->module].path,
			   function->why);
	}
}

/* Whether the process has ended. */
static bool has_ended(const struct traced *traced)
{
	struct pollfd ended = {.fd = traced->ended, .events = POLLIN};

	if (traced->ended < 0)
		return kill(traced->pid, 0) < 0 && errno == ESRCH;
	return poll(&ended, 1, 0) > 0;
}

/* Of -t: how many lines are missing since this was said last. */
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

/* ended: the process is over, so the age of its blocks says nothing any more. */
static struct err *report_one(struct memleak *memleak, const struct traced *traced, bool ended)
{
	const struct memleak_wanted *wanted = memleak->wanted;
	char title[96];
	const struct memleak_subject subject = {
		.tracer = traced->tracer,
		.names = traced->names,
		.pid = traced->pid,
		.name = traced->name,
		.title = wanted->follow ? title : NULL,
		.ended = ended,
		.older_ns = ended && !wanted->older_given ? 0 : wanted->older_ns,
	};

	snprintf(title, sizeof(title), "pid %d (%s)%s", (int)traced->pid, traced->name,
		 ended ? ", which has ended" : "");
	return memleak_report(wanted, &subject, memleak->out);
}

/* ended: of the process that was asked for. */
static struct err *report(struct memleak *memleak, bool ended)
{
	struct err *err = NULL;

	if (memleak->wanted->tracer.trace) {
		say_missing_lines(memleak);
		return NULL;
	}
	for (size_t i = 0; !err && i < memleak->list.count; i++) {
		struct traced *traced = memleak->list.items[i];

		if (traced->tracer)
			err = report_one(memleak, traced, ended && i == 0);
	}
	if (!err && memleak->not_followed) {
		buf_printf(memleak->notes, "%" PRIu64 " %s not traced%s.\n", memleak->not_followed,
			   memleak->not_followed == 1 ? "child of it is" : "children of it are",
			   memleak->wanted->follow ? ": there are too many" : " (--follow)");
		memleak->not_followed = 0;
	}
	return err;
}

/* The process runs another program now: what the old one had is gone. */
static struct err *start_again(struct traced *traced)
{
	uint64_t now = now_ns();

	if (traced->tracer) {
		tracer_destroy(steal(&traced->tracer));
		code_names_destroy(steal(&traced->names));
		traced->retry_until = now + RETRY_FOR;
	}
	traced->executed = false;

	auto_err struct err *err = attach(traced);

	if (!err) {
		if (traced->fresh)
			buf_printf(traced->owner->notes,
				   "Process %d (%s), a child, is traced, too.\n", (int)traced->pid,
				   traced->name);
		else
			buf_printf(traced->owner->notes, "Process %d executes %s now.\n",
				   (int)traced->pid, tracer_target(traced->tracer)->program);
		traced->fresh = false;
		say_hooked(traced->owner, traced);
		return NULL;
	}
	if (now < traced->retry_until || traced->gone)
		return NULL;
	traced->gone = true;
	buf_printf(traced->owner->notes, "Process %d is not traced any more: %s.\n",
		   (int)traced->pid, err_message(err));
	return NULL;
}

static bool is_known(const struct memleak *memleak, pid_t pid)
{
	for (size_t i = 0; i < memleak->list.count; i++)
		if (memleak->list.items[i]->pid == pid)
			return true;
	return false;
}

/* Children that a process has already count as if it had just forked them. */
static void add_children(struct traced *traced)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/children", (int)traced->pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		auto_fclose FILE *file = fopen(found.gl_pathv[i], "re");
		int child;

		while (file && fscanf(file, "%d", &child) == 1)
			on_fork(traced, child);
	}
	globfree(&found);
}

/* Looks after all processes once. *waiting: one is without its tracer. */
static struct err *look_after(struct memleak *memleak, bool *waiting)
{
	struct err *err = NULL;

	*waiting = false;
	for (size_t i = 0; !err && i < memleak->list.count; i++) {
		struct traced *traced = memleak->list.items[i];

		if (traced->gone)
			continue;
		if (traced->tracer)
			err = tracer_poll(traced->tracer);
		if (!err && (traced->executed || !traced->tracer))
			err = start_again(traced);
		*waiting = *waiting || (!traced->tracer && !traced->gone);
	}
	while (!err && memleak->forked.count) {
		pid_t pid = memleak->forked.items[--memleak->forked.count];
		struct traced *traced;

		if (is_known(memleak, pid))
			continue;
		traced = add_process(memleak, pid);
		if (!traced)
			return err_no_memory();
		add_children(traced);
		traced->fresh = true;
		traced->retry_until = now_ns() + RETRY_FOR;
		err = start_again(traced);
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
		const struct traced *traced = memleak->list.items[i];

		if (traced->gone)
			continue;
		list[count++] = (struct pollfd){.fd = traced->ended, .events = POLLIN};
		if (traced->tracer)
			list[count++] = (struct pollfd){.fd = tracer_descriptor(traced->tracer),
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
		struct traced *traced = memleak->list.items[i];

		if (!has_ended(traced))
			continue;
		if (i == 0) {
			*over = true;
			continue;
		}
		if (traced->tracer)
			err = tracer_stop(traced->tracer);
		if (!err && traced->tracer && !memleak->wanted->tracer.trace)
			err = report_one(memleak, traced, true);
		else if (!traced->tracer && !traced->gone)
			buf_printf(memleak->notes,
				   "Process %d (%s), a child, ended before it could be traced.\n",
				   (int)traced->pid, traced->name);
		memleak->list.items[i] = memleak->list.items[--memleak->list.count];
		traced_destroy(traced);
	}
	return err;
}

/* Until the process has ended, a signal comes, or all reports are made. */
static struct err *trace(struct memleak *memleak, bool *ended)
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
			err = report(memleak, false);
			next += wanted->interval_ns;
			if (!err && ++reports == wanted->count)
				return flush(memleak);
		}
		if (!err)
			err = flush(memleak);
		if (!err)
			wait_until(memleak, waiting && now_ns() + RETRY_NS < next
						    ? now_ns() + RETRY_NS
						    : next);
	}
	for (size_t i = 0; !err && i < memleak->list.count; i++)
		if (memleak->list.items[i]->tracer)
			err = tracer_stop(memleak->list.items[i]->tracer);
	if (!err)
		err = report(memleak, *ended);
	return err ? err : flush(memleak);
}

/* Each file that the process has mapped is kept open, as well as what the kernel gives us. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static struct err *begin(struct memleak *memleak)
{
	const struct memleak_wanted *wanted = memleak->wanted;
	struct traced *traced = add_process(memleak, wanted->pid);
	struct err *err;
	sigset_t mask;

	if (!traced)
		return err_no_memory();
	raise_descriptors();
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	memleak->signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	if (memleak->signals < 0)
		return err_create_errno(errno, "a descriptor for signals");
	err = attach(traced);
	if (!err && wanted->command) {
		err = launch_release(wanted->pid);
		memleak->held = err != NULL;
	}
	if (err)
		return err;
	say_hooked(memleak, traced);
	add_children(traced);
	return flush(memleak);
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
	struct err *err = begin(&memleak);

	if (!err)
		err = trace(&memleak, &ended);
	if (!err && ended) {
		buf_printf(notes, "Process %d (%s) has ended.\n", (int)wanted->pid,
			   memleak.list.items[0]->name);
		err = flush(&memleak);
	}
	if (wanted->command) {
		int status = end_child(&memleak, ended);

		return err ? cli_report_err(err) : status;
	}
	return cli_report_err(err);
}
