/* See attach_background.h. */
#include "cli/attach/attach_background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/attach/attach_run.h"
#include "ebpf/bpf_support.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"

#define STACKS_MAX 131072

/* What the child says first, if it records. No error begins so. */
#define ATTACHED "\n"

/* A file for the recording, which has no name any more: nothing is left behind. */
static struct err *make_file(int *ret)
{
	const char *parent = getenv("TMPDIR");
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/mallow-top-XXXXXX", parent && *parent ? parent : "/tmp") < 0) {
		path = NULL;
		return err_no_memory();
	}
	*ret = mkostemp(path, O_CLOEXEC);
	if (*ret < 0)
		return err_create_errno(errno, "cannot make the temporary file '%s'", path);
	unlink(path);
	return NULL;
}

static struct err *attach_recorder(pid_t pid, int fd, struct recorder **ret)
{
	const struct tracer_options options = {
		.stacks_max = STACKS_MAX, .depth = STACK_FRAMES_MAX, .way = -1};
	struct target *target;
	struct err *err = bpf_support_check();

	if (!err)
		err = target_open(pid, &target);
	return err ? err
		   : recorder_create(target, &options, &(struct recorder_output){.fd = fd}, ret);
}

/* The child. Says whether it records, and later why it does not any more. */
static void record(pid_t pid, pid_t parent, int fd, int tell)
{
	cleanup(recorder_destroy_at) struct recorder *recorder = NULL;
	struct attach_signals signals = attach_signals_take();
	bool ended;
	struct err *err;

	// The terminal's Ctrl-C and what ends the parent end us, too.
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return;
	descriptors_raise();
	signal(SIGXFSZ, SIG_IGN);
	err = attach_recorder(pid, fd, &recorder);
	if (!err) {
		dprintf(tell, "%s", ATTACHED);
		// Who looks at the recording sees by itself that it has come to its end.
		err = attach_follow(recorder, &signals, 0, &ended);
	}
	if (err)
		dprintf(tell, "%s", err_message(err));
	err_destroy(err);
}

/* What the child says next, up to its end; NULL: nothing. */
static struct err *read_error(int told)
{
	char text[512];
	ssize_t size = 0, got;

	while ((size_t)size < sizeof(text) - 1 &&
	       (got = read(told, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
		size += got;
	text[size] = '\0';
	return size ? err_create("%s", text) : NULL;
}

/* Waits until the child records. */
static struct err *wait_for(int told)
{
	char first = 0;

	if (read(told, &first, 1) == 1 && first == *ATTACHED)
		return NULL;

	auto_err struct err *rest = read_error(told);

	return err_create("%c%s", first ? first : '?', rest ? err_message(rest) : "");
}

struct err *attach_background(pid_t pid, struct attach_background *ret)
{
	pid_t parent = getpid();
	int ends[2], fd = -1;
	struct err *err;

	*ret = (struct attach_background){.fd = -1};
	err = make_file(&fd);
	if (err)
		return err;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		close(fd);
		return err_create_errno(errno, "a pipe");
	}
	ret->child = fork();
	if (!ret->child) {
		close(ends[0]);
		record(pid, parent, fd, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	ret->told = ends[0];
	err = ret->child < 0 ? err_create_errno(errno, "cannot start a process")
			     : wait_for(ret->told);
	if (!err) {
		ret->fd = fd;
		return NULL;
	}
	close(fd);
	err_destroy(attach_background_end(ret));
	return err;
}

struct err *attach_background_end(struct attach_background *background)
{
	struct err *err = NULL;

	if (background->child > 0) {
		kill(background->child, SIGTERM);
		err = read_error(background->told);
		waitpid(background->child, NULL, 0);
	}
	if (background->child)
		close(background->told);
	background->child = 0;
	return err;
}
