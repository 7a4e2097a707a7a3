/* mallow strip: a smaller recording, with the same sums, a part of it, or one without paths. */
#include <string.h>
#include <sys/stat.h>

#include "analysis/names/symbols_pack.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/recordings/file_kind.h"
#include "cli/recordings/loaded.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/words/style.h"
#include "strip/strip.h"

enum { OUTPUT, THRESHOLD, FROM, TO, ANONYMOUS, DEBUG_SYMBOLS, SYSROOT };

static const struct option_spec options_of_strip[] = {
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "SMALLER",
		    .text = "the file to write; the recording stays as it is"},
	[THRESHOLD] = {.name = "threshold",
		       .value = "TIME",
		       .text = "only blocks that lived shorter go, 10s for example; 0: none go",
		       .standard = "all that were freed"},
	[FROM] = {.name = "from",
		  .value = "MOMENT",
		  .text = "a part: what was live then, and what came later"},
	[TO] = {.name = "to", .value = "MOMENT", .text = "a part: nothing that came later"},
	[ANONYMOUS] = {.name = "anonymous",
		       .value = "full",
		       .flag = true,
		       .text = "without paths (but for their last parts), arguments, environment, "
			       "working directory and the host's name; =full: functions have "
			       "hashes instead of names, the same in every file"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

/* What the options say. */
struct wanted {
	const char *path, *output;
	struct moment from, to;
	struct strip_options strip;
};

static bool read_moment(const struct command *command, const struct options *options, size_t id,
			struct moment *moment, const struct moment **ret)
{
	const char *text = options->values[id];

	if (text && !moment_parse(text, moment)) {
		cli_error(CLI_USAGE, "%s: --%s: '%s' is no moment: %s", command->name,
			  command->body->options[id].name, text, moment_allowed);
		return false;
	}
	*ret = text ? moment : NULL;
	return true;
}

static bool read_threshold(const struct command *command, const struct options *options,
			   uint64_t *ret)
{
	const char *text = options->values[THRESHOLD];

	*ret = TRACE_CULL_ALL;
	if (!text || interval_parse(text, ret))
		return true;
	cli_error(CLI_USAGE, "%s: --threshold: '%s' is no span of time, as 10s or 500ms",
		  command->name, text);
	return false;
}

static bool read_anonymity(const struct command *command, const struct options *options,
			   enum anonymity *ret)
{
	const char *text = options->values[ANONYMOUS];

	// As a flag it is "1", or "0".
	*ret = !text || strcmp(text, "0") == 0 ? ANONYMITY_NONE
	       : strcmp(text, "full") == 0     ? ANONYMITY_FULL
					       : ANONYMITY_PATHS;
	if (*ret != ANONYMITY_PATHS || strcmp(text, "1") == 0)
		return true;
	cli_error(CLI_USAGE, "%s: --anonymous: '%s' is not full", command->name, text);
	return false;
}

static bool read_wanted(const struct command *command, const struct options *options,
			struct wanted *wanted)
{
	if (!options_operands(command, options, 1, 1, "a recording") ||
	    !moment_operands_refuse(command, options))
		return false;
	wanted->path = options->operands[0];
	wanted->output = options->values[OUTPUT];
	if (!wanted->output || strcmp(wanted->output, "-") == 0) {
		cli_error(CLI_USAGE, "%s: -o SMALLER is needed: the file to write", command->name);
		return false;
	}
	return output_spares(options, OUTPUT) &&
	       read_threshold(command, options, &wanted->strip.threshold_ns) &&
	       read_moment(command, options, FROM, &wanted->from, &wanted->strip.from) &&
	       read_moment(command, options, TO, &wanted->to, &wanted->strip.to) &&
	       read_anonymity(command, options, &wanted->strip.anonymity);
}

/* The names of a recording that will not lead to its program's files any more. */
static struct err *pack_names(const struct wanted *wanted, const struct naming *naming,
			      struct buf *ret, bool *loads)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	cleanup(progress_deinit) struct progress progress = {0};

	*loads = loaded_open(wanted->path, naming, &loaded);
	if (!*loads)
		return NULL;
	progress_init(&progress, "naming");
	return symbols_pack_anonymous(loaded.symbolized, wanted->strip.anonymity, progress_update,
				      &progress, ret);
}

/* Who may read the recording may read the smaller one, nobody else. */
static void take_mode(const char *path, const struct output *output)
{
	struct stat status;

	if (stat(path, &status) == 0)
		(void)!fchmod(output->fd, status.st_mode & 0777);
}

static struct err *write_file(const struct wanted *wanted, struct strip_result *ret)
{
	cleanup(progress_deinit) struct progress progress = {0};
	struct strip_options options = wanted->strip;
	struct output output;
	struct err *err = output_open(wanted->output, &output);

	if (err)
		return err;
	output.buf.shown = false;
	take_mode(wanted->path, &output);
	progress_init(&progress, "stripping");
	options.progress = progress_update;
	options.argument = &progress;
	err = strip_recording(wanted->path, &options, &output.buf, ret);
	return output_close(&output, err);
}

/* What has names gets an index, too. *loads false: an error was printed. */
static struct err *finish_file(const struct wanted *wanted, const struct naming *naming,
			       bool compressed, bool *loads)
{
	const enum finish_compress compress =
		compressed ? FINISH_COMPRESS_ALWAYS : FINISH_COMPRESS_AUTO;
	cleanup(loaded_close) struct loaded loaded = {0};
	struct finish_result result = {0};

	*loads = loaded_open_to_finish(wanted->output, NULL, naming, &loaded);
	return *loads ? loaded_finish(wanted->output, &loaded, compress, &result) : NULL;
}

static void put_result(struct buf *buf, const struct wanted *wanted,
		       const struct strip_result *result)
{
	style_safe_text(buf, wanted->output, strlen(wanted->output));
	buf_printf(buf, ": %s instead of %s", format_bytes(result->size_after, false).text,
		   format_bytes(result->size_before, false).text);
	if (result->counted)
		buf_printf(buf, ", %s kept, %s of %s in sums only",
			   format_counted(result->kept, "block", true).text,
			   format_count(result->culled, true).text,
			   format_bytes(result->culled_bytes, false).text);
	buf_char(buf, '\n');
	if (result->running)
		buf_text(buf, "  the program still runs: this is what was recorded until now\n");
	if (!result->finished && wanted->strip.anonymity == ANONYMITY_NONE)
		buf_text(buf, "  without names, as the recording: mallow finish adds them\n");
}

/* *good false: an error was printed. */
static struct err *strip(struct wanted *wanted, const struct options *options, bool *good,
			 struct strip_result *ret)
{
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	cleanup(buf_deinit) struct buf names = BUF_EMPTY;
	bool anonymous = wanted->strip.anonymity != ANONYMITY_NONE;
	struct naming naming = {0};
	struct stat status;
	struct err *err;

	err = file_kind_check_own(wanted->path, "cannot be stripped");
	if (!err)
		err = symbolizer_create(&symbolizer);
	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->many);
	naming.symbolizer = symbolizer;
	if (!err && anonymous) {
		wanted->strip.names = &names;
		err = pack_names(wanted, &naming, &names, good);
	}
	if (!err && *good)
		err = write_file(wanted, ret);
	// No file is asked for names by what is left of its path.
	naming.stored = anonymous;
	if (!err && *good && (ret->finished || anonymous))
		err = finish_file(wanted, &naming, ret->compressed, good);
	if (!err && *good && stat(wanted->output, &status) == 0)
		ret->size_after = (uint64_t)status.st_size;
	return err;
}

static int run_strip(const struct command *command, const struct options *options)
{
	struct strip_result result = {0};
	struct wanted wanted = {0};
	struct output output;
	bool good = true;
	struct err *err;

	if (!read_wanted(command, options, &wanted))
		return CLI_USAGE;
	if (!debug_symbols_check(options))
		return CLI_FAILED;
	err = strip(&wanted, options, &good, &result);
	if (!err && !good)
		return CLI_FAILED;
	if (!err)
		err = output_open(NULL, &output);
	if (err)
		return cli_report_err(err);
	put_result(&output.buf, &wanted, &result);
	err = output_close(&output, NULL);
	return err ? cli_report_err(err) : CLI_OK;
}

const struct command_body command_strip = {
	.options = options_of_strip,
	.option_count = ARRAY_COUNT(options_of_strip),
	.names = true,
	.run = run_strip,
	.details = "Blocks that were freed are in the sums of their stacks only, which stay exact. "
		   "What was live at the peak stays, so the peak and each stack's share of it are "
		   "those of the whole recording. At other moments only the blocks that are kept "
		   "count. With --from and --to it is a recording of that time alone: what was "
		   "live at its start is in it, and what has no free in it may have been freed "
		   "later. Moments are those behind RECORDING@. An anonymous recording keeps the "
		   "names of threads, marks and pools; from the hash of a function's name a guess "
		   "can be confirmed.",
};
