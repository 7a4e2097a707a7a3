/* mallow run: starts a program with the agent in it, and says what was recorded. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/log_option.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"
#include "cli/options/shared_options.h"
#include "cli/recordings/loaded.h"
#include "cli/run/run_child.h"
#include "cli/run/run_environment.h"
#include "cli/run/run_program.h"
#include "cli/run/run_registry.h"
#include "cli/run/run_stream.h"
#include "cli/run/run_summary.h"
#include "cli/run/run_watch.h"
#include "cli/serve/serving.h"
#include "hosted/cleanup.h"
#include "hosted/files/own_path.h"

/* Option ids behind those of enum setting. */
enum { COMPRESS = SETTING_COUNT, NO_FINISH, OPEN };

static const struct option_spec options_of_run[] = {
#define SETTING_OPTIONS_OF SETTING_COMMANDS_RUN
#include "cli/options/setting_options.def"
	[COMPRESS] = COMPRESS_OPTION,
	[NO_FINISH] = {.name = "no-finish",
		       .text = "leave the recordings as the program wrote them; 'mallow finish' "
			       "does the rest"},
	[OPEN] = {.name = "open",
		  .text = "then serve the recordings and open them in a browser, until Ctrl-C"},
};

CLEANUP_DEFINE(struct run_ahead *, run_ahead_destroy);
CLEANUP_DEFINE(struct run_registry *, run_registry_destroy);
CLEANUP_DEFINE(struct run_watch *, run_watch_destroy);

/*
 * Serves the recordings of a run on this machine, and opens a browser, until SIGINT or SIGTERM. The
 * first recording, which is the program's own, is the one that is shown. What fails is printed.
 * Those that no path of ours leads to are left out: the summary has said where they are.
 */
static void serve_images(const struct run_images *images)
{
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	const struct catalog_options kept = {
		.max_open = SERVING_MAX_OPEN,
		.max_memory = serving_memory(),
	};
	const struct serving serving = {
		.http =
			{
				.interface = SERVING_INTERFACE,
				.port = SERVING_PORT,
				.timeout_s = SERVING_TIMEOUT_S,
			},
		.any_port = true,
		.open = true,
	};
	struct err *err;
	bool any = false;

	err = catalog_create(&kept, &catalog);
	// The last of the list is the one that the page shows.
	for (size_t i = images->count; !err && i-- > 0;) {
		if (!images->items[i].path || images->items[i].uid != geteuid())
			continue;
		err = catalog_add(catalog, images->items[i].path);
		any = true;
	}
	if (err)
		cli_report_err(err);
	else if (any) // if not, the summary has said so
		serving_run(&serving, catalog);
}

/* Runs the program, once everything is prepared, and prints the summary. */
static int run_and_tell(const struct options *options, const char *path, const char *library,
			struct run_registry *registry, struct run_stream *stream,
			struct run_finishing *finishing)
{
	cleanup(run_environment_deinit) struct run_environment environment = {0};
	cleanup(run_ahead_destroy_at) struct run_ahead *ahead = NULL;
	cleanup(run_watch_destroy_at) struct run_watch *watch = NULL;
	const char *name = options->operands[0];
	struct run_images images;
	struct run_child_end end;
	struct err *err;
	int number;

	err = run_environment_create(options, library, run_registry_variable(registry),
				     &environment);
	if (err)
		return cli_report_err(err);
	if (finishing->wanted && !run_stream_only(stream)) {
		ahead = run_ahead_start(registry, LOADED_TO_FINISH);
		watch = run_watch_start(registry,
					setting_options_value(options, SETTING_MEMORY_SAMPLES));
	}
	number = run_child(path, options->operands, environment.variables,
			   run_registry_inherited(registry), &end);
	run_registry_end(registry);
	run_watch_stop(watch, number ? NULL : &end);
	run_stream_collect(stream);
	run_ahead_stop(ahead);
	finishing->ahead = ahead;
	finishing->watch = watch;
	if (number)
		return cli_error(CLI_FAILED, "cannot start a process: %s", strerror(number));
	if (end.number)
		return cli_error(end.number == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN,
				 "cannot run '%s': %s", name, strerror(end.number));
	if (run_stream_only(stream))
		return run_child_status(&end);
	images = run_registry_images(registry);
	if (run_registry_is_used(registry))
		cli_error(CLI_OK,
			  "processes of this run are still running: what they record from now on "
			  "is not in the summary below. When they have ended, 'mallow finish' and "
			  "'mallow report' take their recordings");
	run_summary_print(name, &end, &images, finishing);
	if (options->values[OPEN])
		serve_images(&images);
	return run_child_status(&end);
}

static int run_command(const struct command *command, const struct options *given)
{
	struct options options = *given;
	cleanup(run_registry_destroy_at) struct run_registry *registry = NULL;
	struct run_finishing finishing = {
		.wanted = !options.values[NO_FINISH],
		.started_later = setting_options_value(&options, SETTING_DISABLE_BY_DEFAULT),
		.output = options.values[SETTING_OUTPUT],
		.private_slots =
			setting_options_value(&options, SETTING_SLOTS) == SETTING_SLOTS_PRIVATE,
	};
	auto_free char *library = NULL;
	auto_free char *path = NULL, *helper = NULL;
	struct run_stream *stream;
	struct err *err;
	int status;

	if (!options_operands(command, &options, 1, INT32_MAX, "a program") ||
	    !setting_options_check(&options) ||
	    !compress_option(command, &options, COMPRESS, &finishing.compress))
		return CLI_USAGE;
	if (options.values[COMPRESS] && options.values[NO_FINISH])
		return cli_error(CLI_USAGE,
				 "--compress has no effect with --no-finish: leave one out");
	setting_options_say_mistyped();
	log_option_choose(options.values[SETTING_LOG]);
	// Not what the variable says: 'mallow live' is another command.
	options.values[SETTING_MODE] = "record";
	err = run_library_find(&library);
	if (!err)
		err = own_path(&helper);
	if (err)
		return cli_report_err(err);
	status = run_program_find(options.operands, library, &path);
	if (status != CLI_OK)
		return status;
	err = run_registry_create(&registry);
	if (err)
		return cli_report_err(err);
	status = run_stream_start(&options, registry, &stream);
	if (status != CLI_OK)
		return status;
	// For a recording in memory whose descriptor did not reach us: it then has a sender of its
	// own.
	if (run_stream_only(stream) && !setting_options_word(&options, SETTING_HELPER))
		options.values[SETTING_HELPER] = helper;
	status = run_and_tell(&options, path, library, registry, stream, &finishing);
	run_stream_end(stream);
	return status;
}

const struct command_body command_run = {
	.options = options_of_run,
	.option_count = ARRAY_COUNT(options_of_run),
	.stop_at_operand = true,
	.coloured = true,
	.run = run_command,
	.details =
		"Exits with the program's own status, 128 + n if signal n ended it; 127 if it was "
		"not found, 126 if it cannot be executed. Signals sent to mallow are handed on. A "
		"summary is printed to standard error at the end.\n\n"
		"Then the recordings are finished: names and an index are embedded and the events "
		"compressed, so that they open quickly and on other machines. Of a large recording "
		"much is loaded while the program runs, in time that nobody else wants; not with "
		"--no-finish.\n\n"
		"SIZE is in bytes, or with K, M or G behind it (powers of 1024): 65536, 64K, 10M. "
		"TIME is 500ms, 2s or 1h2m3s. BOOL is 1, true, yes, on or 0, false, no, off; where "
		"0 "
		"is the default the option alone means 1.\n\n"
		"With --stream, --listen or --announce the recording is sent to 'mallow gather' "
		"while it is made, as docs/streaming.md says. After the program's end mallow waits "
		"until all has arrived, or half a minute for a receiver; Ctrl-C ends that.\n\n"
		"Every option but the last three can be given as variable too: MALLOW_OUTPUT, "
		"MALLOW_LOG, …. For example:\n\n"
		"mallow run -o 'out/%e.%p.mallow' --max-file-size 1G -- ./server --port 80\n\n"
		"mallow run --sample 512K --backtrace short --memory-samples 100ms ./batch\n\n"
		"mallow run --force-malloc python3 script.py\n\n"
		"MALLOW_FREE_STACKS=1 MALLOW_ZERO_MEMORY=1 mallow run ./program",
};
