/* mallow serve: the web interface and the REST API. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/shared_options.h"
#include "cli/recordings/file_kind.h"
#include "cli/serve/gathering.h"
#include "cli/options/moment_operand.h"
#include "cli/recordings/newest.h"
#include "cli/options/options.h"
#include "cli/recordings/recording_paths.h"
#include "cli/serve/serving.h"
#include "cli/options/access_options.h"
#include "hosted/cleanup.h"
#include "hosted/files/byte_source.h"

#define DAY_S 86400u

enum {
	INTERFACE,
	PORT,
	TOKEN_FILE,
	INSECURE,
	ALLOW_USER,
	ALLOW_ORIGIN,
	TIMEOUT,
	MAX_OPEN,
	MAX_MEMORY,
	DEBUG_SYMBOLS,
	SYSROOT,
	SOURCES,
	GATHER,
	GATHER_LISTEN,
	OPEN
};

static const struct option_spec options_of_serve[] = {
	[INTERFACE] = {.name = "interface",
		       .letter = 'i',
		       .value = "ADDRESS",
		       .text = "where to listen",
		       .standard = "127.0.0.1"},
	[PORT] = {.name = "port",
		  .letter = 'p',
		  .value = "PORT",
		  .text = "the port, 0: any that is free",
		  .standard = "8080"},
	[TOKEN_FILE] = TOKEN_FILE_OPTION,
	[INSECURE] = {.name = "insecure",
		      .text = "serve other machines and users without a token: whoever reaches "
			      "the port"},
	[ALLOW_USER] = ALLOW_USER_OPTION,
	[ALLOW_ORIGIN] = {.name = "allow-origin",
			  .value = "ORIGIN[,ORIGIN…]",
			  .text = "web pages from there may read the answers"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
	[SOURCES] = SOURCES_OPTION,
	[GATHER] =
		{.name = "gather",
		 .value = "DIR",
		 .text = "receive recordings, too, as 'mallow gather -o DIR' does, and show them "
			 "while they arrive; --token-file, --insecure and --allow-user hold for "
			 "both"},
	[GATHER_LISTEN] = {.name = "gather-listen",
			   .value = "ADDRESS[:PORT]",
			   .text = "where senders can connect to",
			   .standard = "127.0.0.1:8200"},
	[OPEN] = {.name = "open", .text = "open the web interface in a browser"},
	[TIMEOUT] = {.name = "timeout",
		     .value = "SECONDS",
		     .text = "end connections of clients that take longer for a request, or for "
			     "64 KiB of the answer",
		     .standard = "30"},
	[MAX_OPEN] = {.name = "max-open",
		      .value = "N",
		      .text = "recordings that are kept open; beyond, the one that was asked for "
			      "longest ago is closed",
		      .standard = "64"},
	[MAX_MEMORY] = {.name = "max-memory",
			.value = "SIZE",
			.text = "what the server may take before recordings are closed in the "
				"same order; the latest one stays open",
			.standard = "a quarter of the machine's"},
};

/* What is served when no recording is named: the user's own of the working directory. */
static char *here[] = {"."};

/* Adds a recording, unless it is in the list. */
static struct err *add_recording(struct catalog *catalog, const char *path, bool named)
{
	struct err *err = NULL;

	if (!named && !newest_is_own(path))
		return NULL;
	err = file_kind_check(path);

	return err ? err : catalog_add(catalog, path);
}

/*
 * Adds the recordings that an operand names now. A file in a directory that is none, or cannot be
 * read, costs only itself. quiet: it is not named. false: the operand itself is no recording and no
 * directory, and an error was printed.
 */
static bool add_recordings(const char *operand, bool quiet, struct catalog *catalog)
{
	cleanup(recording_paths_deinit) struct recording_paths paths = {.empty_allowed = true};
	struct err *err = recording_paths_add(operand, &paths);
	bool good = !err && !paths.failed;

	cli_report_err(err);
	for (size_t i = 0; i < paths.items.count; i++) {
		err = add_recording(catalog, paths.items.items[i], operand != *here);
		good &= !err || paths.directories;
		if (quiet && paths.directories)
			err_destroy(err);
		else
			cli_report_err(err);
	}
	return good;
}

/* Directories are watched by their own times, so that nothing is read again without need. */
struct watched {
	const struct options *options;
	struct timespec looked; /* the time just before the last look */
};

/*
 * Whether a directory may have changed since a look. The clock of files is coarse, so what changed
 * just before the look may have changed after it, too.
 */
static bool changed_since(const struct stat *status, const struct timespec *looked)
{
	return status->st_mtim.tv_sec + 1 >= looked->tv_sec;
}

static void look_at_directories(void *argument, struct catalog *catalog)
{
	struct watched *watched = argument;
	struct timespec now;
	bool changed = false;

	clock_gettime(CLOCK_REALTIME, &now);
	for (int i = 0; i < watched->options->operand_count; i++) {
		struct stat status;

		if (stat(watched->options->operands[i], &status) == 0 && S_ISDIR(status.st_mode))
			changed |= changed_since(&status, &watched->looked);
	}
	watched->looked = now;
	// Until its header is written, a new recording looks like a file that is none.
	for (int i = 0; changed && i < watched->options->operand_count; i++)
		add_recordings(watched->options->operands[i], true, catalog);
}

/* Begins to receive recordings, if that is wanted. *ret NULL: it is not. */
static struct err *start_gathering(const struct options *options, const struct socket_trust *trust,
				   struct gathering **ret)
{
	struct gathering_options wanted = {
		.gather =
			{
				.directory = options->values[GATHER],
				.listen = options->values[GATHER_LISTEN],
				.trust = *trust,
				.find = true,
				.debug_paths = options->many,
				.max_size = GATHERING_MAX_SIZE,
				.max_senders = GATHERING_MAX_SENDERS,
			},
	};
	struct err *err;

	*ret = NULL;
	if (!wanted.gather.directory)
		return NULL;
	if (!wanted.gather.listen)
		wanted.gather.listen = GATHERING_LISTEN;
	err = gathering_key(options->values[TOKEN_FILE], &wanted.gather.key);
	return err ? err : gathering_start(&wanted, ret);
}

/* The operands, and the directory of --gather behind them. *room: owned. */
static struct err *with_gathered(struct options *options, char ***room)
{
	int count = options->operand_count;

	if (!options->values[GATHER])
		return NULL;
	*room = calloc((size_t)count + 2, sizeof(**room));
	if (!*room)
		return err_no_memory();
	memcpy(*room, options->operands, (size_t)count * sizeof(**room));
	(*room)[count] = (char *)options->values[GATHER];
	options->operands = *room;
	options->operand_count++;
	return NULL;
}
CLEANUP_DEFINE(struct gathering *, gathering_stop);

static int run_serve(const struct command *command, const struct options *given)
{
	struct options all = *given, *options = &all;
	auto_free char **operands = NULL;
	cleanup(gathering_stop_at) struct gathering *gathering = NULL;
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	struct watched watched = {.options = options};
	const char *interface = options->values[INTERFACE];
	cleanup(buf_deinit) struct buf room = BUF_EMPTY;
	struct socket_trust trust;
	const char *token;
	uint64_t port, timeout, max_open, max_memory;
	struct err *err;
	int status;

	if (!options_number(command, options, PORT, 0, SERVING_PORT, &port) ||
	    !options_number(command, options, TIMEOUT, 1, SERVING_TIMEOUT_S, &timeout) ||
	    !options_number(command, options, MAX_OPEN, 1, SERVING_MAX_OPEN, &max_open) ||
	    !options_size(command, options, MAX_MEMORY, serving_memory(), &max_memory))
		return CLI_USAGE;
	if (port > UINT16_MAX)
		return cli_error(CLI_USAGE, "'%s' is no port: they end at %d",
				 options->values[PORT], UINT16_MAX);
	if (!trust_option(command, options, INSECURE, ALLOW_USER, &trust))
		return CLI_USAGE;
	if (!token_option(options, TOKEN_FILE, &room, &token, &status))
		return status;

	struct serving serving = {
		.http =
			{
				.interface = interface ? interface : SERVING_INTERFACE,
				.port = (uint16_t)port,
				.token = token,
				.trust = trust,
				.allow_origins = options->values[ALLOW_ORIGIN],
				.timeout_s = timeout < DAY_S ? (unsigned int)timeout : DAY_S,
			},
		.open = options->values[OPEN] != NULL,
	};

	const struct catalog_options kept = {
		.debug_paths = options->many,
		.max_open = (size_t)max_open,
		.max_memory = max_memory,
		.sources = sources_option(options->values[SOURCES]),
	};

	if (!moment_operands_cut(&all, &serving.moment))
		return CLI_USAGE;
	if (!debug_symbols_check(options))
		return CLI_FAILED;
	if (!options->operand_count && !options->values[GATHER]) {
		all.operands = here;
		all.operand_count = 1;
	}
	if (geteuid() == 0 || trust.has_user || trust.all)
		byte_source_refuse_links();
	err = catalog_create(&kept, &catalog);
	if (err)
		return cli_report_err(err);
	for (int i = 0; i < options->operand_count; i++)
		if (!add_recordings(options->operands[i], false, catalog))
			return CLI_FAILED;
	// Only now: this makes the directory.
	err = start_gathering(options, &trust, &gathering);
	if (!err)
		err = with_gathered(options, &operands);
	if (err)
		return cli_report_err(err);
	if (options->values[GATHER] && !add_recordings(options->values[GATHER], false, catalog))
		return CLI_FAILED;
	catalog_watch(catalog, look_at_directories, &watched);
	return serving_run(&serving, catalog);
}

const struct command_body command_serve = {
	.options = options_of_serve,
	.option_count = ARRAY_COUNT(options_of_serve),
	.names = true,
	.run = run_serve,
	.details =
		"The web interface at /, and the REST API: /list has the recordings, /data/ID/… or "
		"/data/last/… what they "
		"hold, /openapi.json all paths, parameters and answers. last is the last recording "
		"of the "
		"command line, or the newest of a directory given last. New recordings of a "
		"directory are found, and those still being written are followed. Without operands "
		"those of the working directory are served that are your own. RECORDING@MOMENT is "
		"the page of what was live then.\n\n"
		"Only this machine is served, under its own name or address, and only your "
		"programs and those of root. Other users (--allow-user) and another --interface "
		"want a token, or --insecure. Nothing but the recordings given "
		"is read; with --sources, source files that their frames name, too.",
};
