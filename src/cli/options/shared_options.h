/*
 * Options that several commands have: NAME_OPTION is a row of a command's table, the function
 * beside it reads the value. And the small text files that some of them name.
 */
#ifndef MALLOW_CLI_OPTIONS_SHARED_OPTIONS_H
#define MALLOW_CLI_OPTIONS_SHARED_OPTIONS_H

#include "analysis/leaks/suppressions.h"
#include "analysis/names/symbolized.h"
#include "analysis/names/plumbing.h"
#include "analysis/sites/metric.h"
#include "cli/options/options.h"
#include "finish/finish.h"
#include "hosted/buf.h"
#include "report/words/style.h"
#include "server/data/source_file.h"
#include "symbols/symbolizer.h"

#define COMPRESS_OPTION                                                                            \
	{                                                                                          \
		.name = "compress", .value = "WHEN",                                               \
		.text = "compress the events; auto: from 1 MiB of them on",                        \
		.choices = "auto always never" /* in the order of enum finish_compress */          \
	}

/*
 * *ret: FINISH_COMPRESS_AUTO if the option was not given. false: a wrong value, and an error was
 * printed.
 */
bool compress_option(const struct command *command, const struct options *options, size_t id,
		     enum finish_compress *ret);

#define CSV_OPTION                                                                                 \
	{                                                                                          \
		.name = "csv", .value = "raw", .flag = true,                                       \
		.text = "as CSV with a header row, all rows unless --top says otherwise; texts "   \
			"that a spreadsheet would run get an apostrophe in front, with =raw they " \
			"stay as they are"                                                         \
	}

/* false: the value of --csv is neither none nor raw, and an error was printed. */
bool csv_option(const struct command *command, const struct options *options, size_t id);
/* Whether it is raw. */
bool csv_option_raw(const struct options *options, size_t id);

#define DEBUG_SYMBOLS_OPTION                                                                       \
	{                                                                                          \
		.name = "debug-symbols", .letter = 'd', .value = "PATH",                           \
		.text = "a debug file, or a directory of them as /usr/lib/debug is one, for "      \
			"recordings without names of their own; may be given many times",          \
		.many = true                                                                       \
	}

#define SYSROOT_OPTION                                                                             \
	{                                                                                          \
		.name = "sysroot", .value = "DIR",                                                 \
		.text = "the root directory of another system: programs, libraries and debug "     \
			"files are looked for below it; may be given many times",                  \
		.many = true                                                                       \
	}

/*
 * Checks the paths of both options, which are options->many: each is searched for both. false: one
 * cannot be read, and an error was printed.
 */
bool debug_symbols_check(const struct options *options);

#define LABEL_OPTION                                                                               \
	{                                                                                          \
		.name = "label", .value = "NAME=VALUE",                                            \
		.text = "what the run is called in a store: `service`, else the program's name, "  \
			"`version`, and any others; may be given many times",                      \
		.labels = true                                                                     \
	}

#define METRIC(NAME, name, field, unit, text) " " name
/* " peak leaked …": +1 skips the first space. */
static const char metric_names[] =
#include "analysis/sites/metric.def"
	;
#undef METRIC

/*
 * The option must have the list above as its choices. *ret: METRIC_PEAK if it was not given. false:
 * no such metric, and an error was printed.
 */
bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret);

#define PLUMBING_OPTION                                                                            \
	{                                                                                          \
		.name = "plumbing", .value = "FILE",                                               \
		.text = "frames that are not your own code, beside those of allocators and "       \
			"standard libraries: lines module:PATTERN, function:PATTERN, file:PATTERN" \
	}

/*
 * *ret: with what the file of the option says; path NULL: nothing is done. It may be a pipe. An
 * error: it cannot be read, or has a line that is none.
 */
struct err *plumbing_option_read(const char *path, struct plumbing **ret);

/*
 * Makes what names are found by, for all recordings of a command, from --debug-symbols, and from
 * --plumbing, whose id is given. false: an error was printed.
 */
bool naming_options_open(const struct options *options, size_t plumbing, struct naming *ret);
/* Frees what naming_options_open() made. Accepts a zeroed struct. */
void naming_options_close(struct naming *naming);

#define SOURCES_OPTION                                                                             \
	{                                                                                          \
		.name = "sources", .value = "DIR", .flag = true,                                   \
		.text = "show source files that frames name: where debug information says they "   \
			"are, or below DIR"                                                        \
	}

/* Without a value an option of this kind is "1", and "0" takes it back. NULL: it was not given. */
struct source_options sources_option(const char *value);

/*
 * Reads the file of --suppressions, which may be a pipe. An error: it cannot be read, or a line is
 * no suppression.
 */
struct err *suppressions_file_read(const char *path, struct suppressions **ret);

#define WIDTH_OPTION                                                                               \
	{                                                                                          \
		.name = "width", .value = "N",                                                     \
		.text = "columns of a text, 0 for as many as it needs",                            \
		.standard = "the terminal's, else 80"                                              \
	}

/*
 * *ret: the style of a page on standard output (terminal_page()), as wide as --width says, and as
 * --bytes and --full want it. The arguments are the ids of these. The narrowest page is
 * TERMINAL_LEAST. false: the width is no number, and an error was printed.
 */
bool style_options(const struct command *command, const struct options *options, size_t width,
		   size_t bytes, size_t full, struct style *ret);

/*
 * Appends the whole of a small text file, which the user wrote, to ret. It may be a pipe. what:
 * "suppressions", for the message about a file that is too large.
 */
struct err *text_file_read(const char *path, const char *what, struct buf *ret);

#endif
