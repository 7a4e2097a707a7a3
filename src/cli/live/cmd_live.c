/* mallow live: starts a program and reports its live allocations. Nothing is recorded. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/live/live_http.h"
#include "cli/live/live_push.h"
#include "cli/live/live_report.h"
#include "cli/live/live_watch.h"
#include "cli/options/access_options.h"
#include "cli/options/live_options.h"
#include "cli/options/log_option.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"
#include "cli/options/shared_options.h"
#include "cli/run/run_child.h"
#include "cli/run/run_environment.h"
#include "cli/run/run_program.h"
#include "cli/run/run_stream.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/files/own_path.h"

/* Option ids behind those of enum setting. */
enum { HTTP = SETTING_COUNT, ALLOW_USER, PUSH, PUSH_INTERVAL, PUSH_HEADERS, LABEL };

static const struct option_spec options_of_live[] = {
#define SETTING_OPTIONS_OF SETTING_COMMANDS_LIVE
#include "cli/options/setting_options.def"
	[HTTP] = {.name = "http",
		  .value = "ADDRESS[:PORT]",
		  .text = "answer there while the program runs: /metrics for Prometheus, "
			  "/debug/pprof/heap and /allocs for Alloy, Parca and go tool pprof, "
			  "/healthz; the port is 9464 unless given; --token-file and --insecure "
			  "hold "
			  "for it, too"},
	[ALLOW_USER] = ALLOW_USER_OPTION,
	[PUSH] = {.name = "push",
		  .value = "STORE+URL",
		  .text = "send what is live to a store of profiles, from time to time and at the "
			  "end: pyroscope+https://HOST, parca+https://HOST:7070, "
			  "otlp+https://HOST:4318, or with http"},
	[PUSH_INTERVAL] = {.name = "push-interval",
			   .value = "SECONDS",
			   .text = "how often",
			   .standard = "60"},
	[PUSH_HEADERS] = PUSH_HEADERS_OPTION,
	[LABEL] = LABEL_OPTION,
};

#define PUSH_INTERVAL_S 60

static const struct live_http_ids http_ids = {HTTP, SETTING_TOKEN_FILE, SETTING_INSECURE,
					      ALLOW_USER};

/* What the program's settings are made of. */
struct prepared {
	struct options options;
	char *outfile, *ignore, *plumbing; /* absolute: the program may run elsewhere */
	char *helper;
};

static void prepared_deinit(struct prepared *prepared)
{
	free(prepared->outfile);
	free(prepared->ignore);
	free(prepared->plumbing);
	free(prepared->helper);
}

/* Makes a path absolute: relative to the working directory. */
static struct err *make_absolute(const char *path, char **ret)
{
	auto_free char *directory = getcwd(NULL, 0);

	if (*path == '/') {
		*ret = strdup(path);
		return *ret ? NULL : err_no_memory();
	}
	if (!directory)
		return err_create_errno(errno, "the working directory");
	if (asprintf(ret, "%s/%s", directory, path) < 0) {
		*ret = NULL;
		return err_no_memory();
	}
	return NULL;
}

/* Checks now, not when there are reports, whether the files that reports need can be used. */
static struct err *check_files(const struct live_options *wanted)
{
	cleanup(live_ignore_deinit) struct live_ignore ignore = {0};
	cleanup(plumbing_destroy_at) struct plumbing *plumbing = NULL;
	struct err *err = plumbing_option_read(wanted->plumbing, &plumbing);

	if (!err && wanted->ignore)
		err = live_options_ignore(wanted->ignore, &ignore);
	if (!err && wanted->outfile)
		err = live_output_check(wanted->outfile);
	return err;
}

/* Makes the path of a setting absolute, if it was given. *absolute: owned. */
static struct err *settle_path(struct prepared *prepared, enum setting setting, const char **path,
			       char **absolute)
{
	struct err *err = *path ? make_absolute(*path, absolute) : NULL;

	if (!err && *path)
		prepared->options.values[setting] = *path = *absolute;
	return err;
}

static struct err *prepare_files(const struct options *options, struct live_options *wanted,
				 struct prepared *prepared)
{
	struct err *err = check_files(wanted);

	if (!err)
		err = own_path(&prepared->helper);
	if (err)
		return err;
	prepared->options = *options;
	prepared->options.values[SETTING_MODE] = "live";
	prepared->options.values[SETTING_HELPER] = prepared->helper;
	err = settle_path(prepared, SETTING_OUTFILE, &wanted->outfile, &prepared->outfile);
	if (!err)
		err = settle_path(prepared, SETTING_IGNORE, &wanted->ignore, &prepared->ignore);
	if (!err)
		err = settle_path(prepared, SETTING_PLUMBING, &wanted->plumbing,
				  &prepared->plumbing);
	return err;
}

/* What the watch calls back with. */
struct watching {
	const struct live_options *wanted;
	struct run_stream *stream;    /* NULL: nothing is sent */
	struct live_profile *profile; /* NULL: nobody asks */
	struct live_http *http;       /* NULL: nobody asks over HTTP */
	struct push_options push_options;
	struct live_push *push; /* NULL: nothing is pushed */
};

static void note_opened(void *argument, int table, pid_t pid)
{
	const struct watching *watching = argument;

	if (watching->stream)
		run_stream_add(watching->stream, table, pid);
	if (!watching->profile)
		return;
	// There is a table, so the program has begun, and does not inherit the limit any more.
	descriptors_raise();
	live_profile_add(watching->profile, table, pid);
}

/* Makes a report that the program could not make: it was killed, or its helper failed. */
static void make_report(void *argument, int table, enum registry_kind asked)
{
	const struct watching *watching = argument;
	struct live_options wanted = *watching->wanted;

	if (asked == REGISTRY_BY_SIZE || asked == REGISTRY_BY_COUNT) {
		wanted.keys[0] = asked == REGISTRY_BY_SIZE ? LIVE_BY_SIZE : LIVE_BY_COUNT;
		wanted.key_count = 1;
	}
	cli_report_err(asked == REGISTRY_LAST ? live_report_write_last(&wanted, table)
					      : live_report_write(&wanted, table));
}

/* Says that nothing was watched: without this the silence could mean that nothing was live. */
static void say_blind(const char *name)
{
	cli_error(CLI_FAILED,
		  "'%s' could not be watched: it or what it executed is statically linked, setuid, "
		  "or removed LD_PRELOAD from its environment (--log warn says more)",
		  name);
}

/* Runs the program, once everything is prepared. */
static int run_watched(const struct options *options, const char *path, char **variables,
		       struct live_watch *watch)
{
	const char *name = options->operands[0];
	struct run_child_end end = {0};
	int number =
		run_child(path, options->operands, variables, live_watch_inherited(watch), &end);
	bool any;

	live_watch_end(watch, number ? NULL : &end, &any);
	if (number)
		return cli_error(CLI_FAILED, "cannot start a process: %s", strerror(number));
	if (end.number)
		return cli_error(end.number == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN,
				 "cannot run '%s': %s", name, strerror(end.number));
	if (!any && !setting_options_value(options, SETTING_DISABLE_BY_DEFAULT))
		say_blind(name);
	return run_child_status(&end);
}

/* Begins what asks for profiles while the program runs. */
static int start_profiles(const struct command *command, const struct options *options,
			  struct watching *watching)
{
	uint64_t interval_ns = PUSH_INTERVAL_S * UINT64_C(1000000000);
	const char *interval = options->values[PUSH_INTERVAL];
	int status =
		push_options_read(options, options->values[PUSH], options->values[PUSH_HEADERS],
				  options->operands[0], &watching->push_options);
	struct err *err;

	if (status != CLI_OK)
		return status;
	if (!options->values[PUSH] &&
	    (interval || options->values[PUSH_HEADERS] || options->label_count))
		return cli_error(CLI_USAGE, "%s is about --push, which is not given",
				 interval                        ? "--push-interval"
				 : options->values[PUSH_HEADERS] ? "--push-headers"
								 : "--label");
	if (interval && !seconds_read(interval, &interval_ns))
		return cli_error(CLI_USAGE, "--push-interval '%s' is no time: 60, or 5m", interval);
	watching->push_options.interval_ms = interval_ns / 1000000;
	if (!options->values[HTTP] && !options->values[PUSH])
		return CLI_OK;
	err = live_profile_create(&watching->profile);
	if (err)
		return cli_report_err(err);
	status = live_http_start(command, options, &http_ids, watching->profile, &watching->http);
	return status != CLI_OK ? status
				: live_push_start(&watching->push_options, watching->profile,
						  &watching->push);
}

static void stop_profiles(struct watching *watching)
{
	live_http_stop(watching->http);
	live_push_end(watching->push);
	live_profile_destroy(watching->profile);
	push_options_deinit(&watching->push_options);
}

static int run_and_watch(const struct command *command, const struct options *options,
			 const char *path, const char *library, struct live_options *wanted)
{
	cleanup(run_environment_deinit) struct run_environment environment = {0};
	struct watching watching = {.wanted = wanted};
	struct live_watch *watch;
	char starter[24];
	struct err *err;
	int status;
	bool any;

	// For the program, and for reports that are made in this process.
	snprintf(starter, sizeof(starter), "%jd", (intmax_t)getpid());
	if (setenv(LIVE_OUTPUT_STARTER, starter, 1) < 0)
		return cli_report_err(err_no_memory());
	status = run_stream_start(options, NULL, &watching.stream);
	if (status != CLI_OK)
		return status;
	status = start_profiles(command, options, &watching);
	if (status != CLI_OK) {
		stop_profiles(&watching);
		run_stream_end(watching.stream);
		return status;
	}
	err = live_watch_start(make_report, note_opened, &watching, &watch);
	if (!err) {
		err = run_environment_create(options, library, live_watch_variable(watch),
					     &environment);
		if (!err)
			status = run_watched(options, path, environment.variables, watch);
		else
			live_watch_end(watch, NULL, &any);
	}
	stop_profiles(&watching);
	run_stream_end(watching.stream);
	return err ? cli_report_err(err) : status;
}

static int run_live(const struct command *command, const struct options *options)
{
	cleanup(prepared_deinit) struct prepared prepared = {0};
	struct live_options wanted;
	auto_free char *library = NULL;
	auto_free char *path = NULL;
	struct err *err;
	int status;

	if (!options_operands(command, options, 1, INT32_MAX, "a program") ||
	    !setting_options_check(options) || !live_options_read(options, &wanted))
		return CLI_USAGE;
	if (wanted.format == LIVE_FLAME_GRAPH && setting_options_value(options, SETTING_JSON))
		return cli_error(CLI_USAGE, "--flame-graph and --json exclude each other");
	setting_options_say_mistyped();
	log_option_choose(options->values[SETTING_LOG]);
	err = prepare_files(options, &wanted, &prepared);
	if (!err)
		err = run_library_find(&library);
	if (err)
		return cli_report_err(err);
	status = run_program_find(options->operands, library, &path);
	if (status != CLI_OK)
		return status;
	return run_and_watch(command, &prepared.options, path, library, &wanted);
}

const struct command_body command_live = {
	.options = options_of_live,
	.option_count = ARRAY_COUNT(options_of_live),
	.stop_at_operand = true,
	.run = run_live,
	.details =
		"Nothing is recorded. What is live is counted in memory, for each backtrace that "
		"allocated, and reported to standard error when the program ends, on SIGUSR1 by "
		"size and on SIGUSR2 by count, and with --interval from time to time. If nothing "
		"is live, nothing is printed. mallow itself makes the report, in a process of its "
		"own, and the program waits only at its end.\n\n"
		"count and size are what is live now and the most of it there was; age is since "
		"the first allocation after which something was always live. The allocator's "
		"memory is that of the heap and of mappings without a file, as the kernel counts "
		"it.\n\n"
		"Exits with the program's own status, 128 + n if signal n ended it; 127 if it was "
		"not found, 126 if it cannot be executed. Signals sent to mallow are handed on to "
		"the program.\n\n"
		"Every option can be given as variable too: MALLOW_TOP, MALLOW_SORT, …, of --depth "
		"it is MALLOW_PRINT_DEPTH. With MALLOW_MODE=live the library does the same "
		"without mallow:\n\n"
		"mallow live --top 3 --sort count node --expose-gc -e 'gc()'\n\n"
		"mallow live --interval 60 --outfile live.txt -- ./server --port 80\n\n"
		"MALLOW_MODE=live LD_PRELOAD=libmallow.so ./program\n\n"
		"docs/live.md says what the numbers are.",
};
