/* mallow import: the file of another profiler as a recording. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/loaded.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "import/import.h"
#include "report/words/format.h"
#include "report/words/style.h"

enum { OUTPUT, DEBUG_SYMBOLS, SYSROOT };

static const struct option_spec options_of_import[] = {
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "RECORDING",
		    .text = "the recording to write, which must not be there"},
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

/* Files that are open. */
struct inputs {
	VEC(struct import_file) files;
};

static void inputs_deinit(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->files.count; i++)
		close(inputs->files.items[i].fd);
	vec_deinit(&inputs->files);
}

static struct err *open_inputs(const struct options *options, struct inputs *inputs)
{
	for (int i = 0; i < options->operand_count; i++) {
		const char *path = options->operands[i];
		// O_NONBLOCK: a FIFO must not hang.
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			return err_create_errno(errno, "cannot open '%s'", path);
		if (!vec_push(&inputs->files, (struct import_file){path, fd})) {
			close(fd);
			return err_no_memory();
		}
	}
	return NULL;
}

/* Writes the recording as it is read from the files. On failure there is none. */
static struct err *write_recording(const struct options *options, const char *path)
{
	cleanup(inputs_deinit) struct inputs inputs = {0};
	struct err *err = open_inputs(options, &inputs);
	int fd;

	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_create_errno(errno, "cannot write '%s'", path);
	err = import_write(inputs.files.items, inputs.files.count, fd);
	if (err)
		unlink(path);
	return err;
}

static void put_result(struct buf *buf, const char *path, const struct recording_facts *facts,
		       uint64_t size)
{
	style_safe_text(buf, path, strlen(path));
	buf_printf(buf, ": %s, ", format_bytes(size, false).text);
	if (facts->aggregate)
		buf_text(buf, "sums of stacks");
	else
		buf_text(buf, format_counted(facts->allocations, "allocation", false).text);
	buf_text(buf, " from ");
	style_safe_text(buf, facts->agent_version, strlen(facts->agent_version));
	buf_char(buf, '\n');
}

/*
 * Adds names and an index, and compresses, as mallow finish does, and says what was imported.
 * *loads false: it could not be loaded, and an error was printed.
 */
static struct err *complete(const struct options *options, const char *path, struct buf *buf,
			    bool *loads)
{
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	cleanup(loaded_close) struct loaded loaded = {0};
	struct finish_result result = {0};
	struct err *err = symbolizer_create(&symbolizer);

	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->many);
	if (err)
		return err;
	*loads = loaded_open_to_finish(path, NULL, &(struct naming){.symbolizer = symbolizer},
				       &loaded);
	if (!*loads)
		return NULL;
	err = loaded_finish(path, &loaded, FINISH_COMPRESS_AUTO, &result);
	if (!err)
		put_result(buf, path, recording_facts(loaded.recording), result.size_after);
	return err;
}

static int run_import(const struct command *command, const struct options *options)
{
	const char *path = options->values[OUTPUT];
	struct output output;
	bool loads = true;
	struct err *err;

	if (!options_operands(command, options, 1, INT32_MAX, "a file") ||
	    !moment_operands_refuse(command, options))
		return CLI_USAGE;
	if (!path)
		return cli_error(CLI_USAGE,
				 "'import' needs -o RECORDING. Without it, commands "
				 "open the file itself: mallow report %s",
				 options->operands[0]);
	if (!debug_symbols_check(options))
		return CLI_FAILED;
	err = write_recording(options, path);
	if (!err)
		err = output_open(NULL, &output);
	if (!err)
		err = output_close(&output, complete(options, path, &output.buf, &loads));
	if (err)
		return cli_report_err(err);
	return loads ? CLI_OK : CLI_FAILED;
}

/* " heaptrack: … jemalloc: …": +1 skips the first space. */
#define FORMAT(id, name, text) " " name ": " text "."
static const char details[] =
#include "import/formats.def"
	"\n\n"
	"A file is known by its content, and unpacked by the way (gzip, zstd, xz, lz4). Other "
	"commands open such files directly; what is imported has its names with it, opens at once, "
	"and can be sent to others. Several files are moments of one process, in their order: the "
	"curve of its dumps.";
#undef FORMAT

const struct command_body command_import = {
	.options = options_of_import,
	.option_count = ARRAY_COUNT(options_of_import),
	.names = true,
	.run = run_import,
	.details = details + 1,
};
