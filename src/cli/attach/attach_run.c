/* See attach_run.h. */
#include "cli/attach/attach_run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/memleak/memleak_parts.h"
#include "ebpf/bpf_support.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/file_name.h"
#include "hosted/now.h"
#include "report/words/shell_word.h"
#include "settings/output_name.h"

static sigset_t ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

struct attach_signals attach_signals_take(void)
{
	const sigset_t set = ending_signals();
	struct attach_signals signals;

	sigprocmask(SIG_BLOCK, &set, &signals.before);
	signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return signals;
}

void attach_signals_release(struct attach_signals *signals)
{
	const sigset_t set = ending_signals();
	const struct timespec now = {0, 0};

	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
}

static bool watch_descriptor(int waiter, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(waiter, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct err *attach_follow(struct recorder *recorder, const struct attach_signals *signals,
			  uint64_t until_ns, bool *ret_ended)
{
	const struct target *target = tracer_target(recorder_tracer(recorder));
	auto_close int process = (int)syscall(SYS_pidfd_open, target->pid, 0);
	auto_close int waiter = epoll_create1(EPOLL_CLOEXEC);
	bool told = false;
	struct err *err = NULL;

	*ret_ended = process < 0;
	if (!watch_descriptor(waiter, signals->fd, EPOLLIN) ||
	    (!*ret_ended && !watch_descriptor(waiter, process, EPOLLIN)) ||
	    !watch_descriptor(waiter, tracer_descriptor(recorder_tracer(recorder)),
			      EPOLLIN | EPOLLET))
		return err_create_errno(errno, "a descriptor to wait with");
	while (!err && !*ret_ended && !told && !recorder_has_executed(recorder) &&
	       (!until_ns || now_ns() < until_ns)) {
		struct epoll_event events[3];
		int count = epoll_wait(waiter, events, 3, RECORDER_STEP_MS);

		for (int i = 0; i < count; i++) {
			*ret_ended = *ret_ended || events[i].data.fd == process;
			told = told || events[i].data.fd == signals->fd;
		}
		err = recorder_step(recorder);
	}
	if (!err)
		err = recorder_end(recorder, *ret_ended);
	if (err)
		recorder_stop(recorder);
	return err;
}

#define NAMES_MAX 10000 /* numbers that %n tries */

static void fill_output_name(pid_t pid, const char *program, struct output_name *ret)
{
	struct utsname host;

	*ret = (struct output_name){.pid = (uint64_t)pid, .seconds = (uint64_t)time(NULL)};
	snprintf(ret->executable, sizeof(ret->executable), "%s", file_name(program));
	uname(&host);
	snprintf(ret->host, sizeof(ret->host), "%s", host.nodename);
}

/* Makes the missing directories of the path, as far as it can: opening the file tells. */
static void make_parents(char *path)
{
	for (char *c = path + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0777);
		*c = '/';
	}
}

/*
 * The path of the recording: fills in the placeholders of the pattern, makes the directories that
 * are missing. *ret: an absolute path (free()). program: the process's.
 */
static struct err *make_path(const char *pattern, pid_t pid, const char *program, char **ret)
{
	struct output_name name;
	char path[PATH_MAX];
	auto_free char *directory = getcwd(NULL, 0);
	uint64_t tries = output_name_has(pattern, 'n') ? NAMES_MAX : 1, n = 0;

	fill_output_name(pid, program, &name);
	do
		if (!output_name_expand(&name, pattern, n, path, sizeof(path)))
			return err_create_errno(ENAMETOOLONG, "'%s'", pattern);
	while (++n < tries && access(path, F_OK) == 0);
	if (*path == '/' || !directory)
		*ret = strdup(path);
	else if (asprintf(ret, "%s/%s", directory, path) < 0)
		*ret = NULL;
	if (!*ret)
		return err_no_memory();
	make_parents(*ret);
	return NULL;
}

static struct err *attach_recorder(const struct attach_wanted *wanted, struct recorder **ret)
{
	auto_free char *path = NULL;
	struct target *target;
	struct err *err = target_open(wanted->pid, &target);

	if (err)
		return err;
	err = make_path(wanted->output, wanted->pid, target->program, &path);
	if (err) {
		target_close(target);
		return err;
	}
	return recorder_create(target, &wanted->tracer, &(struct recorder_output){.path = path},
			       ret);
}

/* Whether standard error takes what we say, before a signal comes: nobody may read it. */
static bool can_say(const struct attach_signals *signals)
{
	struct pollfd list[] = {{.fd = STDERR_FILENO, .events = POLLOUT},
				{.fd = signals->fd, .events = POLLIN}};

	return poll(list, 2, -1) > 0 && !list[1].revents;
}

/* If nobody can read that, it is recorded all the same. */
static void say_begun(const struct attach_wanted *wanted, const struct recorder *recorder)
{
	const char *path = recording_file_path(recorder_file(recorder));
	struct buf notes;

	buf_init_fd(&notes, STDERR_FILENO, "standard error");
	notes.shown = true;
	hooked_text_put(&notes, recorder_tracer(recorder));
	buf_text(&notes, "Recording into ");
	shell_path_put(&notes, path);
	buf_text(&notes, wanted->duration_ns ? ".\n" : " until Ctrl+C.\n");
	if (!wanted->open) {
		buf_text(&notes, "To see it meanwhile: ");
		shell_word_put(&notes, program_invocation_name);
		buf_text(&notes, " serve --open ");
		shell_path_put(&notes, path);
		buf_char(&notes, '\n');
	}

	err_destroy(buf_finish(&notes));
	buf_deinit(&notes);
}

/*
 * Serves the recording in a process of its own, which has none of our descriptors: probes last as
 * long as somebody has theirs. 0: it could not be started, which was printed.
 */
static pid_t serve_recording(const char *path, const struct attach_signals *signals)
{
	char *const words[] = {
		program_invocation_name, "serve", "--open", "--port", "0", (char *)path, NULL};
	pid_t child = fork();

	if (child < 0) {
		cli_error(CLI_FAILED, "cannot start a process to serve the recording");
		return 0;
	}
	if (child)
		return child;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	execv("/proc/self/exe", words);
	_exit(CLI_CANNOT_RUN);
}

/* Whether that path leads to that file now. */
static bool is_same_file(const char *path, int fd)
{
	struct stat named, opened;

	return stat(path, &named) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/*
 * A symbolizer that reads the very files that the process has mapped: they may have been deleted or
 * replaced since, or be those of a container.
 */
static struct err *make_symbolizer(const struct target *target, struct symbolizer **ret)
{
	struct err *err = symbolizer_create(ret);

	for (size_t i = 0; !err && i < target->modules.count; i++) {
		const struct target_module *module = &target->modules.items[i];
		char place[32];

		if (module->fd < 0 || is_same_file(module->path, module->fd))
			continue;
		snprintf(place, sizeof(place), "/proc/self/fd/%d", module->fd);
		err = symbolizer_add_place(*ret, module->path, place);
	}
	if (err)
		symbolizer_destroy(steal(ret));
	return err;
}

/* Prints the summary and finishes the recording, as `mallow run` does. */
static int finish_recorded(struct attach_wanted *wanted, const struct recorder *recorder)
{
	const struct target *target = tracer_target(recorder_tracer(recorder));
	const char *path = recording_file_path(recorder_file(recorder));
	struct run_image image = {.path = path, .fd = -1};
	struct run_images images = {.items = &image, .count = 1};
	const struct run_child_end end = {0};

	if (recorder_has_executed(recorder))
		cli_error(
			CLI_OK,
			"process %d has executed another program, where the recording ends: attach "
			"again for that one",
			(int)wanted->pid);
	if (access(path, F_OK))
		return cli_error(CLI_FAILED, "'%s' is gone: somebody has removed or renamed it",
				 path);
	if (wanted->finishing.wanted) {
		struct err *err = make_symbolizer(target, &wanted->finishing.symbolizer);

		if (err)
			return cli_report_err(err);
	}
	wanted->finishing.output = wanted->output;
	run_summary_print(file_name(target->program), &end, &images, &wanted->finishing);
	return CLI_OK;
}

int attach_run(struct attach_wanted *wanted)
{
	cleanup(recorder_destroy_at) struct recorder *recorder = NULL;
	struct err *err = bpf_support_check();
	struct attach_signals signals;
	pid_t server = 0;
	bool ended;

	if (err)
		return cli_report_err(err);
	// Each file that a process has mapped is kept open.
	descriptors_raise();
	// A closed pipe and a file that may not grow are errors like others: no signals.
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signals = attach_signals_take();
	err = attach_recorder(wanted, &recorder);
	if (err)
		return cli_report_err(err);
	if (can_say(&signals))
		say_begun(wanted, recorder);
	if (wanted->open)
		server = serve_recording(recording_file_path(recorder_file(recorder)), &signals);
	err = attach_follow(recorder, &signals,
			    wanted->duration_ns ? now_ns() + wanted->duration_ns : 0, &ended);
	attach_signals_release(&signals);

	int failed = cli_report_err(err), finished = finish_recorded(wanted, recorder);
	int status = failed ? failed : finished;

	if (server)
		waitpid(server, NULL, 0);
	return status;
}
