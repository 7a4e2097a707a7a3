/* mallow gather: receives recordings over the network. */
#include <signal.h>
#include <time.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/access_options.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"
#include "cli/options/shared_options.h"
#include "cli/serve/gathering.h"

#define SHOW_MS 1000

enum {
	DIRECTORY,
	LISTEN,
	TOKEN_FILE,
	INSECURE,
	ALLOW_USER,
	MAX_SIZE,
	MAX_SENDERS,
	NO_FINISH,
	PARQUET,
	DEBUG_SYMBOLS,
	SYSROOT,
};

static const struct option_spec options_of_gather[] = {
	[DIRECTORY] = {.name = "output",
		       .letter = 'o',
		       .value = "DIR",
		       .text = "where the recordings go; made if it is missing",
		       .standard = "."},
	[LISTEN] = {.name = "listen",
		    .value = "ADDRESS[:PORT]",
		    .text = "where senders (--stream) can connect to; 127.0.0.1:8200 if not given, "
			    "with a TARGET nowhere"},
	[TOKEN_FILE] = {.name = "token-file",
			.value = "FILE",
			.text = "the key that senders must have, too; a missing FILE is made, with "
				"a random one"},
	[INSECURE] = {.name = "insecure",
		      .text = "without a key, too, talk to other machines than this one, and to "
			      "all users of this one"},
	[ALLOW_USER] = ALLOW_USER_OPTION,
	[MAX_SIZE] = {.name = "max-size",
		      .value = "SIZE",
		      .text = "refuse what becomes larger",
		      .standard = "1T"},
	[MAX_SENDERS] = {.name = "max-senders",
			 .value = "N",
			 .text = "senders that may be connected at a time",
			 .standard = "256"},
	[NO_FINISH] = {.name = "no-finish",
		       .text = "leave complete recordings as they came; 'mallow finish' does the "
			       "rest"},
	[PARQUET] = {.name = "parquet",
		     .value = "DIR",
		     .text = "write each complete recording as tables, too, into the folder "
			     "DIR/RECORDING: export --to parquet"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

/* Waits for Ctrl-C, or until all targets have sent all they had. */
static void wait_for_end(struct gathering *gathering)
{
	const struct timespec moment = {.tv_sec = SHOW_MS / 1000,
					.tv_nsec = SHOW_MS % 1000 * 1000000};
	struct gather_state state;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	do {
		gathering_show(gathering);
		gathering_look(gathering, &state);
	} while (!state.over && sigtimedwait(&ends, NULL, &moment) < 0);
	// A second Ctrl-C ends the process at once.
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

static void block_ends(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Says what was left behind. */
static int say_end(const struct gather_state *state)
{
	if (state->unfinished)
		cli_error(CLI_OK,
			  "%zu recording%s not complete: start 'mallow gather' again to go on",
			  state->unfinished, state->unfinished == 1 ? " is" : "s are");
	return state->failed ? CLI_FAILED : CLI_OK;
}

static int run_gather(const struct command *command, const struct options *options)
{
	struct gathering_options wanted = {
		.gather =
			{
				.directory = options->values[DIRECTORY],
				.targets = options->operands,
				.target_count = (size_t)options->operand_count,
				.listen = options->values[LISTEN],
				.find = !options->operand_count,
				.debug_paths = options->many,
			},
		.no_finish = options->values[NO_FINISH],
		.tables = options->values[PARQUET],
	};
	struct gathering *gathering;
	struct gather_state state;
	uint64_t max_senders;
	struct err *err;

	if (!options_size(command, options, MAX_SIZE, GATHERING_MAX_SIZE,
			  &wanted.gather.max_size) ||
	    !options_number(command, options, MAX_SENDERS, 1, GATHERING_MAX_SENDERS,
			    &max_senders) ||
	    !trust_option(command, options, INSECURE, ALLOW_USER, &wanted.gather.trust))
		return CLI_USAGE;
	wanted.gather.max_senders = (size_t)max_senders;
	if (!wanted.gather.directory)
		wanted.gather.directory = ".";
	if (!wanted.gather.listen && !options->operand_count)
		wanted.gather.listen = GATHERING_LISTEN;
	if (!debug_symbols_check(options))
		return CLI_FAILED;
	err = gathering_key(options->values[TOKEN_FILE], &wanted.gather.key);
	if (err)
		return cli_report_err(err);
	block_ends();
	err = gathering_start(&wanted, &gathering);
	if (err) {
		cli_report_err(err);
		return CLI_USAGE;
	}
	wait_for_end(gathering);
	gathering_look(gathering, &state);
	gathering_stop(gathering);
	return say_end(&state);
}

const struct command_body command_gather = {
	.options = options_of_gather,
	.option_count = ARRAY_COUNT(options_of_gather),
	.names = true,
	.run = run_gather,
	.details =
		"Receives recordings while they are made, from programs that were started with "
		"'mallow run --stream', or by the library alone with MALLOW_CONNECT. Files are "
		"named YYYYMMDD_HHMMSS_PID_NAME.mallow, by the start of the program in UTC, and "
		"can "
		"be opened at every moment. If a link breaks it is made again, and nothing is sent "
		"twice. A complete recording is finished as 'mallow run' does it; programs and "
		"libraries that this machine has not are asked for, and kept in the cache.\n\n"
		"A TARGET is HOST:PORT of a sender that listens (--listen). Without one, senders "
		"connect, and those that announce themselves (--announce) are found.\n\n"
		"Ctrl-C ends it; what is incomplete goes on when it is started again. Exits with 1 "
		"if a recording had to be refused.\n\n"
		"mallow gather -o recordings --listen 0.0.0.0 --token-file token\n\n"
		"mallow run --stream 10.0.0.7 --token-file token ./server",
};
