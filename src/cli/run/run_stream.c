#include "cli/run/run_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options/setting_options.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/vec.h"
#include "report/words/format.h"
#include "stream/link/link_set.h"
#include "stream/discovery/program_name.h"

#define LOOK_MS    50   /* between two looks for new recordings, and for the end */
#define SAID_MS    2000 /* a longer waiting is said */
#define LOOKS_MOST 600  /* at the end, while there are no descriptors */

struct run_stream {
	struct sender *sender;
	struct stream_options options;
	struct run_registry *registry; /* NULL: of `mallow live` */
	size_t opened;                 /* so many of its images */
	VEC(size_t) sent; /* of each recording of the sender: which of the registry it is */
	pthread_t thread;
	bool has_thread;
	int end; /* eventfd: the program has ended */
	bool ends_blocked;
	sigset_t before; /* the signal mask until then */
};

/* fd: owned. */
static void add_recording(struct run_stream *stream, int fd, bool in_memory, pid_t pid)
{
	char name[256];
	struct err *err;

	program_name(fd, name, sizeof(name));
	// There is a recording, so the program has begun, and does not inherit the limit any more.
	if (!stream->sent.count)
		descriptors_raise();
	if (!vec_push(&stream->sent, stream->opened)) {
		close(fd);
		cli_report_err(err_no_memory());
		return;
	}
	err = sender_add(stream->sender, fd, name, in_memory, pid);
	stream->sent.count -= err != NULL;
	cli_report_err(err);
}

/* Opens an image's recording for the sender. */
static int open_image(struct run_stream *stream, size_t i, const struct run_image *image)
{
	int fd;

	if (image->path)
		return open(image->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (stream->options.only)
		return run_registry_take(stream->registry, i);
	fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		run_registry_reopen(&fd);
	return fd;
}

/* Opens what is new. false: there is no descriptor for it now; there is when others have arrived.
 */
static bool look_for_recordings(struct run_stream *stream)
{
	size_t count = run_registry_count(stream->registry);

	for (; stream->opened < count; stream->opened++) {
		struct run_image image;
		int fd;

		run_registry_get(stream->registry, stream->opened, &image);
		fd = open_image(stream, stream->opened, &image);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			return false;
		if (fd >= 0)
			add_recording(stream, fd, stream->options.only, image.pid);
		else
			cli_error(CLI_FAILED, "not sent: %s: %s", image.label, strerror(errno));
	}
	return true;
}

/* Waits a moment. false: the program has ended. */
static bool wait_for_end(struct run_stream *stream)
{
	struct pollfd polled = {.fd = stream->end, .events = POLLIN};

	poll(&polled, 1, LOOK_MS);
	return !polled.revents;
}

static void *watch_registry(void *argument)
{
	struct run_stream *stream = argument;

	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000};

	while (wait_for_end(stream))
		look_for_recordings(stream);
	// The program has ended.
	for (int looks = 0; !look_for_recordings(stream) && looks < LOOKS_MOST; looks++)
		nanosleep(&moment, NULL);
	return NULL;
}

static void destroy(struct run_stream *stream)
{
	run_stream_collect(stream);
	sigprocmask(SIG_SETMASK, &stream->before, NULL);
	sender_destroy(stream->sender);
	vec_deinit(&stream->sent);
	if (stream->end >= 0)
		close(stream->end);
	free(stream);
}
CLEANUP_DEFINE(struct run_stream *, destroy);

static struct err *start_thread(struct run_stream *stream)
{
	int number;
	struct err *err;

	if (stream->end < 0)
		return err_create_errno(errno, "cannot make an event");
	err = sender_create(&stream->options.sender, &stream->sender);

	if (err || !stream->registry)
		return err;
	number = link_set_thread(&stream->thread, watch_registry, stream);
	stream->has_thread = !number;
	return number ? err_create_errno(number, "cannot start a thread") : NULL;
}

int run_stream_start(const struct options *options, struct run_registry *registry,
		     struct run_stream **ret)
{
	cleanup(destroy_at) struct run_stream *stream = NULL;
	struct stream_options wanted;
	int status = stream_options_read(options, &wanted);
	struct err *err;

	*ret = NULL;
	if (status != CLI_OK || !wanted.wanted)
		return status;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return cli_report_err(err_no_memory());
	stream->options = wanted;
	stream->registry = registry;
	stream->end = eventfd(0, EFD_CLOEXEC);
	err = start_thread(stream);
	if (err) {
		cli_report_err(err);
		return CLI_USAGE;
	}
	if (sender_port(stream->sender))
		cli_error(CLI_OK, "receivers can connect to port %u",
			  (unsigned int)sender_port(stream->sender));
	*ret = steal(&stream);
	return CLI_OK;
}

bool run_stream_only(const struct run_stream *stream)
{
	return stream && stream->options.only;
}

void run_stream_add(struct run_stream *stream, int fd, pid_t pid)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0)
		return;
	run_registry_reopen(&own);
	add_recording(stream, own, false, pid);
}

static void fill_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGINT);
	sigaddset(ends, SIGTERM);
}

void run_stream_collect(struct run_stream *stream)
{
	sigset_t ends;

	if (!stream)
		return;
	// From now on Ctrl-C ends the waiting, and not us: the status is the program's.
	fill_ends(&ends);
	if (!stream->ends_blocked)
		sigprocmask(SIG_BLOCK, &ends, &stream->before);
	stream->ends_blocked = true;
	if (!stream->has_thread)
		return;
	eventfd_write(stream->end, 1);
	pthread_join(stream->thread, NULL);
	stream->has_thread = false;
}

/* What became of recording i of the sender. */
static void say_trouble(const struct run_stream *stream, size_t i,
			const struct sender_outcome *outcome)
{
	struct run_image image = {.label = "the recording"};
	const char *path;

	if (stream->registry && !stream->options.only)
		run_registry_get(stream->registry, stream->sent.items[i], &image);
	path = image.path ? image.path : image.label;

	if (outcome->written)
		cli_error(CLI_OK, "%s is still being written: the rest of it is not sent", path);
	else
		cli_error(CLI_FAILED, "%s has not arrived%s%s%s", path,
			  *outcome->why ? ": " : ": there was no receiver", outcome->why,
			  stream->options.only ? ", and is lost" : "");
}

static void say_outcomes(struct run_stream *stream)
{
	size_t arrived = 0, all = stream->sent.count;
	size_t unopened =
		stream->registry ? run_registry_count(stream->registry) - stream->opened : 0;
	char where[sizeof(((struct sender_outcome *)0)->where)] = "";
	struct sender_outcome outcome;

	for (size_t i = 0; sender_outcome(stream->sender, i, &outcome); i++) {
		if (!outcome.arrived) {
			say_trouble(stream, i, &outcome);
			continue;
		}
		arrived++;
		snprintf(where, sizeof(where), "%s", outcome.where);
	}
	if (unopened)
		cli_error(CLI_FAILED, "recordings that were not sent, for want of descriptors: %zu",
			  unopened);
	if (arrived && all == 1)
		cli_error(CLI_OK, "the recording has arrived at %s", where);
	else if (arrived && arrived == all && !unopened)
		cli_error(CLI_OK, "all recordings have arrived at %s", where);
	else if (arrived)
		cli_error(CLI_OK, "%zu recordings have arrived at %s", arrived, where);
	else if (!all)
		cli_error(CLI_FAILED, "nothing was sent: no program began a recording");
}

void run_stream_end(struct run_stream *stream)
{
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000};
	bool ended = false;
	sigset_t ends;

	if (!stream)
		return;
	run_stream_collect(stream);
	fill_ends(&ends);
	sender_end(stream->sender);
	for (int looks = 0; !ended && sender_is_busy(stream->sender); looks++) {
		if (looks == SAID_MS / LOOK_MS)
			cli_error(CLI_OK, "waiting until all has arrived; Ctrl-C ends that");
		ended = sigtimedwait(&ends, NULL, &moment) > 0;
	}
	say_outcomes(stream);
	destroy(stream);
}
