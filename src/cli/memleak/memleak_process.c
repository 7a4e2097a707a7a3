#include "cli/memleak/memleak_process.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/memleak/hooked_text.h"
#include "cli/memleak/memleak_line.h"
#include "cli/memleak/memleak_report.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"

/* After exec the new program has no allocator yet: how long to look for one. */
#define RETRY_FOR 2000000000ull

static void on_call(void *argument, const struct event *event)
{
	memleak_line_write(((struct memleak_process *)argument)->around->out, event);
}

static void on_fork(void *argument, pid_t child)
{
	const struct memleak_around *around = ((struct memleak_process *)argument)->around;

	around->on_fork(around->argument, child);
}

static void on_exec(void *argument)
{
	((struct memleak_process *)argument)->executed = true;
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

struct err *memleak_process_create(const struct memleak_around *around, pid_t pid,
				   struct memleak_process **ret)
{
	struct memleak_process *process = calloc(1, sizeof(*process));

	if (!process)
		return err_no_memory();
	process->around = around;
	process->pid = pid;
	read_name(pid, process->name, sizeof(process->name));
	process->ended = (int)syscall(SYS_pidfd_open, pid, 0);
	process->retry_until = now_ns() + RETRY_FOR;
	*ret = process;
	return NULL;
}

void memleak_process_destroy(struct memleak_process *process)
{
	if (!process)
		return;
	tracer_destroy(process->tracer);
	code_names_destroy(process->names);
	if (process->ended >= 0)
		close(process->ended);
	free(process);
}

struct err *memleak_process_attach(struct memleak_process *process)
{
	const struct tracer_events events = {
		.argument = process, .on_call = on_call, .on_fork = on_fork, .on_exec = on_exec};
	struct target *target;
	struct err *err = target_open(process->pid, &target);

	if (!err)
		err = tracer_create(target, &process->around->wanted->tracer, &events,
				    &process->tracer);
	if (!err && !process->names)
		err = code_names_create(&process->names);
	if (err)
		return err;
	tracer_start(process->tracer);
	read_name(process->pid, process->name, sizeof(process->name));
	return code_names_look(process->names, tracer_target(process->tracer));
}

void memleak_process_say_hooked(const struct memleak_process *process)
{
	hooked_text_put(process->around->notes, process->tracer);
}

bool memleak_process_has_ended(const struct memleak_process *process)
{
	struct pollfd ended = {.fd = process->ended, .events = POLLIN};

	if (process->ended < 0)
		return kill(process->pid, 0) < 0 && errno == ESRCH;
	return poll(&ended, 1, 0) > 0;
}

struct err *memleak_process_report(const struct memleak_process *process, bool ended)
{
	const struct memleak_wanted *wanted = process->around->wanted;
	char title[96];
	const struct memleak_subject subject = {
		.tracer = process->tracer,
		.names = process->names,
		.pid = process->pid,
		.name = process->name,
		.title = wanted->follow ? title : NULL,
		.ended = ended,
		.older_ns = ended && !wanted->older_given ? 0 : wanted->older_ns,
	};

	snprintf(title, sizeof(title), "pid %d (%s)%s", (int)process->pid, process->name,
		 ended ? ", which has ended" : "");
	return memleak_report(wanted, &subject, process->around->out);
}

void memleak_process_start_again(struct memleak_process *process)
{
	uint64_t now = now_ns();

	if (process->tracer) {
		tracer_destroy(steal(&process->tracer));
		code_names_destroy(steal(&process->names));
		process->retry_until = now + RETRY_FOR;
	}
	process->executed = false;

	auto_err struct err *err = memleak_process_attach(process);

	if (!err) {
		if (process->fresh)
			buf_printf(process->around->notes,
				   "Process %d (%s), a child, is traced, too.\n", (int)process->pid,
				   process->name);
		else
			buf_printf(process->around->notes, "Process %d executes %s now.\n",
				   (int)process->pid, tracer_target(process->tracer)->program);
		process->fresh = false;
		memleak_process_say_hooked(process);
		return;
	}
	if (now < process->retry_until || process->gone)
		return;
	process->gone = true;
	buf_printf(process->around->notes, "Process %d is not traced any more: %s.\n",
		   (int)process->pid, err_message(err));
}

void memleak_process_add_children(struct memleak_process *process)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/children", (int)process->pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		auto_fclose FILE *file = fopen(found.gl_pathv[i], "re");
		int child;

		while (file && fscanf(file, "%d", &child) == 1)
			on_fork(process, child);
	}
	globfree(&found);
}
