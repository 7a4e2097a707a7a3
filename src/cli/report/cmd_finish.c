/* mallow finish: what `mallow run` does at its end, for recordings that it did not make. */
#include <string.h>

#include "analysis/index/index_file.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/file_kind.h"
#include "cli/recordings/loaded.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/words/style.h"

enum { COMPRESS, INDEX_FILE, DEBUG_SYMBOLS, SYSROOT };

static const struct option_spec options_of_finish[] = {
	[COMPRESS] = COMPRESS_OPTION,
	[INDEX_FILE] = {.name = "index-file",
			.text = "also write RECORDING.index, by which what looks at single blocks "
				"opens at once"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static void put_result(struct buf *buf, const char *path, const struct finish_result *result)
{
	style_safe_text(buf, path, strlen(path));
	if (result->state == FINISH_ALREADY) {
		buf_text(buf, ": already finished\n");
		return;
	}
	buf_printf(buf, ": finished, %s instead of %s%s\n",
		   format_bytes(result->size_after, false).text,
		   format_bytes(result->size_before, false).text,
		   result->compressed ? "" : ", not compressed");
}

/* Loads what is needed, and rewrites the recording. */
static struct err *finish(const char *path, enum finish_state state, enum finish_compress compress,
			  struct symbolizer *symbolizer, struct finish_result *result, bool *loads)
{
	const struct naming naming = {.symbolizer = symbolizer};
	cleanup(loaded_close) struct loaded loaded = {0};

	*loads = state == FINISH_RESTORE || loaded_open_to_finish(path, NULL, &naming, &loaded);
	return *loads ? loaded_finish(path, &loaded, compress, result) : NULL;
}

/* Writes the recording's index file, unless there is a valid one. false: an error was printed. */
static bool write_index(const char *path, struct buf *buf)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	auto_free char *written = NULL;
	struct err *err;

	if (!loaded_open_blocks(path, &loaded))
		return false;
	if (recording_facts(loaded.recording)->indexed)
		return true;
	err = index_file_write(loaded.recording, &written);
	if (err) {
		cli_report_err(err);
		return false;
	}
	if (!written) {
		cli_error(CLI_FAILED, "'%s' is damaged: an index file of it would not be believed",
			  path);
		return false;
	}
	style_safe_text(buf, written, strlen(written));
	buf_text(buf, ": written\n");
	return true;
}

/* Finishes one recording. false: it could not be finished, and an error was printed. */
static bool finish_one(const char *path, enum finish_compress compress, bool index_file,
		       struct symbolizer *symbolizer, struct buf *buf)
{
	struct finish_result result = {0};
	bool loads = true;
	struct err *err;

	err = file_kind_check_own(path, "cannot be finished");
	if (!err)
		err = finish_inspect(path, compress, &result.state);
	if (!err && (result.state == FINISH_NEEDED || result.state == FINISH_RESTORE))
		err = finish(path, result.state, compress, symbolizer, &result, &loads);
	if (err || !loads) {
		cli_report_err(err);
		return false;
	}
	if (result.state == FINISH_LIVE) {
		cli_error(CLI_FAILED,
			  "'%s' is still being written: finish it when its program has "
			  "ended",
			  path);
		return false;
	}
	put_result(buf, path, &result);
	if (result.other_names)
		cli_error(CLI_OK, "'%s' has %s (hard links), which keep the file as it was", path,
			  format_counted(result.other_names, "other name", true).text);
	return !index_file || write_index(path, buf);
}

static int run_finish(const struct command *command, const struct options *options)
{
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	enum finish_compress compress;
	struct output output;
	bool good = true;
	struct err *err;

	if (!options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !moment_operands_refuse(command, options) ||
	    !compress_option(command, options, COMPRESS, &compress))
		return CLI_USAGE;
	if (!debug_symbols_check(options))
		return CLI_FAILED;
	err = symbolizer_create(&symbolizer);
	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->many);
	if (!err)
		err = output_open(NULL, &output);
	if (err)
		return cli_report_err(err);
	for (int i = 0; i < options->operand_count; i++)
		good &= finish_one(options->operands[i], compress, options->values[INDEX_FILE],
				   symbolizer, &output.buf);
	err = output_close(&output, NULL);
	if (err)
		return cli_report_err(err);
	return good ? CLI_OK : CLI_FAILED;
}

const struct command_body command_finish = {
	.options = options_of_finish,
	.option_count = ARRAY_COUNT(options_of_finish),
	.names = true,
	.run = run_finish,
	.details = "A finished recording carries the names of its functions and an index, so that "
		   "it opens quickly, and on machines that do not have its program. It takes the "
		   "place of the old one only when it is complete. One that is finished already is "
		   "left alone, unless --compress asks for another storage of its events. `mallow "
		   "run` finishes the recordings that it makes.",
};
