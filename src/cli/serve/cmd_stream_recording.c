/*
 * mallow stream-recording: sends one recording, which is open as a descriptor, until it is
 * complete. The agent starts it, with its settings in the environment, where there is no `mallow
 * run`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"
#include "cli/options/stream_options.h"
#include "hosted/cleanup.h"
#include "stream/discovery/program_name.h"
#include "write/still_written.h"

#define LOOK_MS 100

enum { DESCRIPTOR = SETTING_COUNT };

static const struct option_spec options_of_stream_recording[] = {
#define SETTING_OPTIONS_OF SETTING_COMMANDS_RUN
#include "cli/options/setting_options.def"
	[DESCRIPTOR] = {.name = "fd", .value = "N", .text = "where the recording is open"},
};

static void nap(void)
{
	const struct timespec time = {.tv_nsec = LOOK_MS * 1000000};

	nanosleep(&time, NULL);
}

/*
 * Waits until the program has ended, or the recording has before. Who has inherited its descriptor
 * may keep it open for ever.
 */
static void wait_for_end(struct sender *sender, int fd)
{
	struct sender_outcome outcome = {0};
	struct trace_header header;

	while (sender_outcome(sender, 0, &outcome) && !outcome.settled &&
	       pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       still_written(fd, &header))
		nap();
}

static int say_outcome(struct sender *sender)
{
	struct sender_outcome outcome = {0};

	if (sender_outcome(sender, 0, &outcome) && outcome.arrived)
		return CLI_OK;
	return cli_error(CLI_FAILED, "the recording has not arrived: %s",
			 *outcome.why ? outcome.why : "there was no receiver");
}

/* fd: owned. */
static int send_one(const struct stream_options *wanted, int fd)
{
	cleanup(sender_destroy_at) struct sender *sender = NULL;
	int own = dup(fd);
	char name[256];
	struct err *err = sender_create(&wanted->sender, &sender);

	if (err) {
		close(fd);
		if (own >= 0)
			close(own);
		return cli_report_err(err_prefix(err, "the recording is not sent"));
	}
	program_name(fd, name, sizeof(name));
	err = sender_add(sender, fd, name, wanted->only, 0);
	if (err || own < 0)
		return cli_report_err(err);
	wait_for_end(sender, own);
	close(own);
	sender_end(sender);
	while (sender_is_busy(sender))
		nap();
	return say_outcome(sender);
}

static int run_stream_recording(const struct command *command, const struct options *options)
{
	struct stream_options wanted;
	uint64_t given;
	char path[32];
	int status, fd;

	if (!options_operands(command, options, 0, 0, "no operand") ||
	    !options_number(command, options, DESCRIPTOR, 0, INT32_MAX, &given))
		return CLI_USAGE;
	status = stream_options_read(options, &wanted);
	if (status != CLI_OK)
		return status;
	// Opened anew: this process must not count as somebody who writes the file.
	snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)given);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cli_error(CLI_FAILED, "the recording is not sent: descriptor %d: %s",
				 (int)given, strerror(errno));
	close((int)given);
	return send_one(&wanted, fd);
}

const struct command_body command_stream_recording = {
	.options = options_of_stream_recording,
	.option_count = ARRAY_COUNT(options_of_stream_recording),
	.run = run_stream_recording,
};
