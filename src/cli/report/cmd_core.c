/* mallow core: the live blocks in a core dump, with the size of each and the stacks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/hex.h"
#include "cli/cli.h"
#include "cli/options/filter_options.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/recordings/loaded.h"
#include "coredump/core_image.h"
#include "hosted/cleanup.h"
#include "report/json/core_json.h"
#include "report/text/core_text.h"
#include "symbols/addr2line.h"
#include "symbols/elf_image.h"

enum {
	SORT,
	TOP,
	SIZES,
	JSON,
	OUTPUT,
	RAW,
	ADDR2LINE,
	BYTES,
	WIDTH,
	FULL,
	PLUMBING,
	DEBUG_SYMBOLS,
	SYSROOT,
};

static const struct option_spec options_of_core[] = {
	[SORT] = {.name = "sort",
		  .value = "KEY",
		  .text = "which sites come first: those with most bytes, or most blocks; bytes if "
			  "not given",
		  .choices = "bytes count"},
	[TOP] = {.name = "top", .value = "N", .text = "sites shown, 0 for all", .standard = "0"},
	[SIZES] = {.name = "sizes", .text = "print the sizes of all blocks of a site, not 32"},
	[JSON] = {.name = "json", .text = "as JSON, with all sizes"},
	[OUTPUT] = {.name = "output",
		    .letter = 'o',
		    .value = "FILE",
		    .text = "file to write instead of standard output"},
	[RAW] = {.name = "raw",
		 .text = "the files are memory without headers, all of one process: from a debug "
			 "probe, or pieces of /proc/PID/mem"},
	[ADDR2LINE] = {.name = "addr2line",
		       .value = "CMD",
		       .text = "a program that names PROGRAM's code as addr2line does, for a "
			       "format that mallow does not read"},
	[BYTES] = {.name = "bytes", .text = "sums to the last digit"},
	[WIDTH] = WIDTH_OPTION,
	[FULL] = {.name = "full", .text = "cut, fold and leave out nothing"},
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static const int exclusive[][2] = {
	{JSON, SIZES}, {JSON, BYTES}, {JSON, WIDTH}, {JSON, FULL}, {WIDTH, FULL}};

/* The files that `mallow core` is given: a program, and a core dump or raw dumps. */
struct core_files {
	bool raw;     /* the dumps have no headers */
	bool foreign; /* the first operand is a program in a format of which we know nothing */
	const char *program;      /* NULL: not given */
	const char *const *paths; /* the dumps; all operands behind the program */
	size_t count;
	char *stored; /* the path found for a process's number, owned; NULL: none */
};

/*
 * Core dumps that systemd-coredump has stored: core.NAME.UID.BOOT.PID.TIME, compressed or not.
 */
#define FOLDER "/var/lib/systemd/coredump"

/* Behind NAME, which may have dots in it. */
enum { UID, BOOT, PID, TIME, FIELDS };

/* Whether this is a process's number, and no file of that name is here. */
static bool is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")] && access(word, F_OK) != 0;
}

/*
 * *time: when the file of that name was dumped, in microseconds. false: it is no core dump of the
 * process.
 */
static bool is_core_of(const char *name, const char *pid, uint64_t *time)
{
	auto_free char *copy = strdup(name);
	const char *fields[FIELDS] = {0};
	char *end;

	if (!copy || strncmp(copy, "core.", 5) != 0)
		return false;
	// "…1732579200000000.zst": without the end of the compression.
	end = strrchr(copy, '.');
	if (end && end[strspn(end, ".0123456789")])
		*end = 0;
	for (int i = FIELDS - 1; i >= 0; i--) {
		end = strrchr(copy, '.');
		if (!end)
			return false;
		*end = 0;
		fields[i] = end + 1;
	}
	*time = strtoull(fields[TIME], NULL, 10);
	return strcmp(fields[PID], pid) == 0;
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/*
 * *ret: the path of the newest core dump of that process; the caller frees it. The folder is
 * /var/lib/systemd/coredump, or $MALLOW_COREDUMPS.
 */
static struct err *find_core_of(const char *pid, char **ret)
{
	const char *path = getenv("MALLOW_COREDUMPS");
	cleanup(close_folder) DIR *folder = NULL;
	auto_free char *best = NULL;
	uint64_t newest = 0, time;
	const struct dirent *entry;

	if (!path || !*path)
		path = FOLDER;
	folder = opendir(path);
	if (!folder && errno != ENOENT)
		return err_create_errno(errno, "cannot look for core dumps in '%s'", path);
	while (folder && (entry = readdir(folder)) != NULL) {
		if (!is_core_of(entry->d_name, pid, &time) || (best && time <= newest))
			continue;
		newest = time;
		free(best);
		if (asprintf(&best, "%s/%s", path, entry->d_name) < 0) {
			best = NULL;
			return err_no_memory();
		}
	}
	if (!best)
		return err_create("no file '%s', and no core dump of process %s in '%s'", pid, pid,
				  path);
	*ret = steal(&best);
	return NULL;
}

static void core_files_deinit(struct core_files *files)
{
	free(files->stored);
	*files = (struct core_files){0};
}

/* Whether the file is a program or library, not a core dump. */
static bool is_program(const char *path)
{
	struct elf_image *image;
	struct err *err = elf_image_open(path, &image);
	bool loadable;

	if (err) {
		err_destroy(err);
		return false;
	}
	// A dump of memory may begin with a program's first page, which says the same of itself.
	loadable = elf_image_is_loadable(image) && elf_image_section(image, ".shstrtab");
	elf_image_close(image);
	return loadable;
}

/* Sorts the operands. Returns the exit status; an error was printed. */
static int core_files_find(const struct options *options, struct core_files *files)
{
	const char *const *operands = (const char *const *)options->operands;
	size_t count = (size_t)options->operand_count;
	bool program;
	struct err *err;

	files->raw = options->values[RAW] != NULL;
	files->foreign = options->values[ADDR2LINE] != NULL;
	program = files->foreign || (files->raw ? is_program(operands[0]) : count > 1);
	files->program = program ? operands[0] : NULL;
	files->paths = operands + program;
	files->count = count - program;
	if (files->foreign && !files->count)
		return cli_error(CLI_USAGE, "--addr2line needs the program in front of the dump: "
					    "mallow core --addr2line CMD PROGRAM CORE");
	if (!files->count)
		return cli_error(CLI_USAGE, "'%s' is a program: which dump of its memory?",
				 operands[0]);
	if (!files->raw && files->count > 1)
		return cli_error(CLI_USAGE, "one core dump at a time, with its program in front: "
					    "only with --raw there may be several");
	if (files->raw || !is_pid(files->paths[0]))
		return CLI_OK;
	err = find_core_of(files->paths[0], &files->stored);
	files->paths = (const char *const *)&files->stored;
	return cli_report_err(err);
}

/* The module that is the program itself. NULL: no frame was in it. */
static const struct recorded_module *module_of_program(const struct recording *recording)
{
	const char *program = recording_facts(recording)->program;
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!modules[i].path[0] || strcmp(modules[i].path, program) == 0)
			return &modules[i];
	return NULL;
}

/* Refuses another program than the one that ran. Without build ids nobody can tell. */
static struct err *check_program(const struct core_files *files, const struct recording *recording)
{
	const struct recorded_module *module = module_of_program(recording);
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	char here[HEX_ROOM(ELF_IMAGE_BUILD_ID_MAX)], there[sizeof(here)];
	const uint8_t *id;
	struct err *err;
	size_t size;

	err = elf_image_open(files->program, &image);
	if (err)
		return err_prefix(err, "no names can be read from '%s'", files->program);
	if (!elf_image_is_loadable(image))
		return err_create("'%s' is no program; the order is PROGRAM CORE", files->program);
	size = elf_image_build_id(image, &id);
	if (!size || !module || !module->build_id_size ||
	    elf_image_has_build_id(image, module->build_id, module->build_id_size))
		return NULL;
	hex_put(here, id, size);
	hex_put(there, module->build_id,
		module->build_id_size < ELF_IMAGE_BUILD_ID_MAX ? module->build_id_size
							       : ELF_IMAGE_BUILD_ID_MAX);
	return err_create(
		"'%s' is not the program that ran: its build id is %s, that of the dumped "
		"program %s is %s",
		files->program, here, recording_facts(recording)->program, there);
}

/*
 * Opens the dumps with blocks and names. The program, if it was given, must be the one that ran.
 * false: an error was printed.
 */
static bool core_files_open(const struct core_files *files, struct naming *naming,
			    struct loaded *ret)
{
	struct loaded loaded = {0};
	struct err *err = NULL;

	if (files->raw)
		err = recording_open_raw(files->paths, files->count, &loaded.recording);
	else if (!loaded_open_needs(files->paths[0], RECORDING_BLOCKS, NULL, &loaded))
		return false;
	if (!err && files->program && !files->foreign)
		err = check_program(files, loaded.recording);
	naming->program = files->program;
	if (!err)
		err = symbolized_create(loaded.recording, naming, &loaded.symbolized);
	if (err) {
		loaded_close(&loaded);
		cli_report_err(err);
		return false;
	}
	*ret = loaded;
	return true;
}

/* What is wanted, and what it is made of. */
struct report {
	const struct options *options;
	struct core_view_options view;
	struct style style;
	struct core_files files;
	struct filter *filter; /* NULL: all blocks */
	struct naming naming;
};

static struct err *write_view(const struct report *report, const struct core_view *view)
{
	struct output output;
	struct err *err = output_open(report->options->values[OUTPUT], &output);
	struct json_writer json;

	if (err)
		return err;
	if (report->options->values[JSON]) {
		json_init(&json, &output.buf, true);
		err = core_json_write(&json, view);
		buf_char(&output.buf, '\n');
	} else {
		err = core_text_write(&output.buf, &report->style, view);
	}
	return output_close(&output, err);
}

static struct err *write_report(const struct report *report, const struct recording *recording,
				struct symbolized *symbolized)
{
	cleanup(core_view_deinit) struct core_view view = {0};
	cleanup(filter_view_deinit) struct filter_view filtered = {0};
	struct core_view_of of = {recording, recording, NULL, symbolized};
	struct err *err = NULL;

	if (report->filter)
		err = filter_view_create(report->filter, recording, symbolized, &filtered);
	if (filtered.recording) {
		of.recording = filtered.recording;
		of.match = &filtered.match;
	}
	if (!err)
		err = core_view_create(&of, &report->view, &view);
	return err ? err : write_view(report, &view);
}

/* A recording has freed blocks, too. */
static struct err *leave_out_freed(struct report *report, const struct recording *recording)
{
	struct err *err = NULL;

	if (recording_facts(recording)->live)
		return NULL;
	if (!report->filter)
		err = filter_create(&report->filter);
	return err ? err : filter_set(report->filter, "lifetime", "only_leaked");
}

static int make_report(struct report *report)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	struct err *err;

	if (!core_files_open(&report->files, &report->naming, &loaded))
		return CLI_FAILED;
	err = leave_out_freed(report, loaded.recording);
	if (!err)
		err = write_report(report, loaded.recording, loaded.symbolized);
	return cli_report_err(err_prefix(err, "%s", report->files.paths[0]));
}

/* Reads all options but those about names. */
static bool read_wanted(const struct command *command, const struct options *options,
			struct report *report)
{
	uint64_t top = 0;
	int sort = 0;

	if (!options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !options_choice(command, options, SORT, &sort) ||
	    !options_number(command, options, TOP, 0, 0, &top) ||
	    !style_options(command, options, WIDTH, BYTES, FULL, &report->style) ||
	    !filter_options_read(command, options, &report->filter) ||
	    !output_spares(options, OUTPUT))
		return false;
	report->view.by_count = sort == 1;
	report->view.top = top > UINT32_MAX ? 0 : (uint32_t)top;
	report->view.all_sizes = options->values[SIZES] != NULL;
	return true;
}

static int run_core(const struct command *command, const struct options *options)
{
	cleanup(addr2line_end_at) struct addr2line *addr2line = NULL;
	struct report report = {.options = options};
	int status = CLI_OK;

	if (!options_operands(command, options, 1, INT32_MAX, "a core dump") ||
	    !read_wanted(command, options, &report))
		status = CLI_USAGE;
	else if (!naming_options_open(options, PLUMBING, &report.naming))
		status = CLI_FAILED;
	if (status == CLI_OK)
		status = core_files_find(options, &report.files);
	if (status == CLI_OK && report.files.foreign) {
		status = cli_report_err(addr2line_start(options->values[ADDR2LINE],
							report.files.program, &addr2line));
		report.naming.addr2line = addr2line;
	}
	if (status == CLI_OK) {
		report.view.path = report.files.paths[0];
		status = make_report(&report);
	}
	core_files_deinit(&report.files);
	filter_destroy(report.filter);
	naming_options_close(&report.naming);
	return status;
}

const struct command_body command_core = {
	.options = options_of_core,
	.option_count = ARRAY_COUNT(options_of_core),
	.filters = true,
	.coloured = true,
	.names = true,
	.run = run_core,
	.details =
		"What a program had allocated and not freed when its core was dumped: by a crash, "
		"by gcore, or by a probe. The program must have run under 'mallow live', or with "
		"MALLOW_MODE=live: then its memory has the table of all blocks, and nothing had to "
		"be written. report, export, diff and serve open a core dump, too.\n\n"
		"Of each site: its part of all live bytes, its bytes, the sizes of its blocks by "
		"address, and the stack, innermost function first.\n\n"
		"A number in place of CORE is a process whose core dump systemd-coredump has "
		"stored. Dumps compressed by zstd, lz4, gzip or xz are read as they are. PROGRAM "
		"is "
		"the file to take names from, if it is not where it ran.",
};
