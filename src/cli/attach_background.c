/* See attach_background.h. */
#include "cli/attach_background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/attach_follow.h"
#include "ebpf/bpf_support.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"

#define STACKS_MAX 131072

CLEANUP_DEFINE(struct recorder *, recorder_destroy);

/* A directory for the recording, until it is opened. */
static struct err *make_directory(char **ret)
{
	const char *parent = getenv("TMPDIR");

	if (asprintf(ret, "%s/mallow-top-XXXXXX", parent && *parent ? parent : "/tmp") < 0) {
		*ret = NULL;
		return err_no_memory();
	}
	return mkdtemp(*ret) ? NULL : err_create_errno(errno, "cannot make a directory '%s'", *ret);
}

static struct err *attach(pid_t pid, const char *path, struct recorder **ret)
{
	const struct tracer_options options = {.max_size = UINT64_MAX,
					       .sample_rate = 1,
					       .blocks_max = 1,
					       .stacks_max = STACKS_MAX,
					       .depth = STACK_FRAMES_MAX,
					       .way = -1};
	struct target *target;
	struct err *err = bpf_support_check();

	if (!err)
		err = target_open(pid, &target);
	return err ? err : recorder_create(target, &options, path, ret);
}

/* The child. Tells by what it writes: an error's text, or nothing but the end, if it records. */
static void record(pid_t pid, const char *path, int tell)
{
	cleanup(recorder_destroy_at) struct recorder *recorder = NULL;
	struct attach_signals signals = attach_signals_take();
	bool ended;

	// The terminal's Ctrl-C and what ends the parent end us, too.
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	descriptors_raise();

	auto_err struct err *err = attach(pid, path, &recorder);

	if (err)
		dprintf(tell, "%s", err_message(err));
	close(tell);
	if (err)
		return;
	// Who looks at the recording sees by itself that it has come to its end.
	err = attach_follow(recorder, &signals, 0, &ended);
}

/* Waits until the child records. */
static struct err *wait_for(int told, const char *path, int *ret)
{
	char text[512];
	ssize_t size = 0, got;

	while ((size_t)size < sizeof(text) - 1 &&
	       (got = read(told, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
		size += got;
	text[size] = '\0';
	if (size)
		return err_create("%s", text);
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret >= 0 ? NULL : err_create_errno(errno, "'%s'", path);
}

struct err *attach_background(pid_t pid, struct attach_background *ret)
{
	auto_free char *directory = NULL;
	auto_free char *path = NULL;
	struct err *err = make_directory(&directory);
	int ends[2];

	*ret = (struct attach_background){.fd = -1};
	if (!err && asprintf(&path, "%s/recording", directory) < 0) {
		path = NULL;
		err = err_no_memory();
	}
	if (!err && pipe2(ends, O_CLOEXEC) < 0)
		err = err_create_errno(errno, "a pipe");
	if (err)
		return err;
	ret->child = fork();
	if (!ret->child) {
		close(ends[0]);
		record(pid, path, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	err = ret->child < 0 ? err_create_errno(errno, "cannot start a process")
			     : wait_for(ends[0], path, &ret->fd);
	close(ends[0]);
	unlink(path);
	rmdir(directory);
	if (err)
		attach_background_end(ret);
	return err;
}

void attach_background_end(struct attach_background *background)
{
	if (background->child > 0) {
		kill(background->child, SIGTERM);
		waitpid(background->child, NULL, 0);
	}
	background->child = 0;
}
