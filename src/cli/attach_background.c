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

/* Where the recording is until it is opened: a file in a directory of its own. */
struct place {
	char *directory;
	char *path; /* NULL: there is no directory yet */
};

static void place_remove(struct place *place)
{
	if (place->path) {
		unlink(place->path);
		rmdir(place->directory);
	}
	free(place->path);
	free(place->directory);
}

static struct err *place_make(struct place *ret)
{
	const char *parent = getenv("TMPDIR");
	auto_free char *path = NULL;

	if (asprintf(&ret->directory, "%s/mallow-top-XXXXXX", parent && *parent ? parent : "/tmp") <
	    0) {
		ret->directory = NULL;
		return err_no_memory();
	}
	if (!mkdtemp(ret->directory))
		return err_create_errno(errno, "cannot make a directory '%s'", ret->directory);
	if (asprintf(&path, "%s/recording", ret->directory) < 0) {
		path = NULL;
		rmdir(ret->directory);
		return err_no_memory();
	}
	ret->path = steal(&path);
	return NULL;
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
	cleanup(place_remove) struct place place = {0};
	struct err *err = place_make(&place);
	int ends[2];

	*ret = (struct attach_background){.fd = -1};
	if (err)
		return err;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_create_errno(errno, "a pipe");
	ret->child = fork();
	if (!ret->child) {
		close(ends[0]);
		record(pid, place.path, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	err = ret->child < 0 ? err_create_errno(errno, "cannot start a process")
			     : wait_for(ends[0], place.path, &ret->fd);
	close(ends[0]);
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
