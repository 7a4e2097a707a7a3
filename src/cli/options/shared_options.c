#include "cli/options/shared_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/output/terminal.h"
#include "hosted/cleanup.h"

bool compress_option(const struct command *command, const struct options *options, size_t id,
		     enum finish_compress *ret)
{
	int choice = FINISH_COMPRESS_AUTO;

	if (!options_choice(command, options, id, &choice))
		return false;
	*ret = (enum finish_compress)choice;
	return true;
}

bool csv_option(const struct command *command, const struct options *options, size_t id)
{
	const char *value = options->values[id];

	if (!value || strcmp(value, "1") == 0 || strcmp(value, "raw") == 0)
		return true;
	cli_error(CLI_USAGE, "'%s' is no value of --csv of '%s': raw, or none", value,
		  command->name);
	return false;
}

bool csv_option_raw(const struct options *options, size_t id)
{
	return options->values[id] && strcmp(options->values[id], "raw") == 0;
}

bool debug_symbols_check(const struct options *options)
{
	for (size_t i = 0; i < options->many_count; i++) {
		if (access(options->many[i], R_OK) == 0)
			continue;
		cli_error(CLI_FAILED, "cannot read '%s': %s", options->many[i], strerror(errno));
		return false;
	}
	return true;
}

bool metric_option(const struct command *command, const struct options *options, size_t id,
		   enum metric *ret)
{
	int metric = METRIC_PEAK;

	if (!options_choice(command, options, id, &metric))
		return false;
	*ret = (enum metric)metric;
	return true;
}

struct err *plumbing_option_read(const char *path, struct plumbing **ret)
{
	cleanup(plumbing_destroy_at) struct plumbing *plumbing = NULL;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	if (!path)
		return NULL;
	err = plumbing_create(&plumbing);
	if (!err)
		err = text_file_read(path, "plumbing", &text);
	if (!err)
		err = plumbing_add(plumbing, path, text.data, text.size);
	if (!err)
		*ret = steal(&plumbing);
	return err;
}

bool naming_options_open(const struct options *options, size_t plumbing, struct naming *ret)
{
	struct symbolizer *symbolizer = NULL;
	struct plumbing *own = NULL;
	struct err *err;

	if (!debug_symbols_check(options))
		return false;
	err = symbolizer_create(&symbolizer);
	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->many);
	if (!err)
		err = plumbing_option_read(options->values[plumbing], &own);
	*ret = (struct naming){.symbolizer = symbolizer, .plumbing = own};
	if (!err)
		return true;
	naming_options_close(ret);
	cli_report_err(err);
	return false;
}

void naming_options_close(struct naming *naming)
{
	if (naming->symbolizer)
		symbolizer_destroy(naming->symbolizer);
	if (naming->plumbing)
		plumbing_destroy((struct plumbing *)naming->plumbing);
	*naming = (struct naming){0};
}

struct source_options sources_option(const char *value)
{
	bool plain = value && strcmp(value, "1") == 0;

	return (struct source_options){
		.served = value && strcmp(value, "0") != 0,
		.directory = plain ? NULL : value,
	};
}

struct err *suppressions_file_read(const char *path, struct suppressions **ret)
{
	cleanup(suppressions_destroy_at) struct suppressions *suppressions = NULL;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	err = text_file_read(path, "suppressions", &text);
	if (!err)
		err = suppressions_create(&suppressions);
	if (!err)
		err = suppressions_add(suppressions, path, text.data, text.size);
	if (!err)
		*ret = steal(&suppressions);
	return err;
}

bool style_options(const struct command *command, const struct options *options, size_t width,
		   size_t bytes, size_t full, struct style *ret)
{
	struct style style = terminal_page(STDOUT_FILENO);
	uint64_t columns = style.width;

	if (!options_number(command, options, width, 0, columns, &columns))
		return false;
	if (columns && columns < TERMINAL_LEAST)
		columns = TERMINAL_LEAST;
	style.width = columns > UINT16_MAX ? 0 : (unsigned)columns;
	style.exact = options->values[bytes] != NULL;
	style.full = options->values[full] != NULL;
	*ret = style;
	return true;
}

#define SIZE_MOST ((size_t)16 << 20) /* a larger file is something else */

struct err *text_file_read(const char *path, const char *what, struct buf *ret)
{
	auto_fclose FILE *file = fopen(path, "re");
	char piece[4096];
	size_t size;

	if (!file)
		return err_create_errno(errno, "%s", path);
	while ((size = fread(piece, 1, sizeof(piece), file))) {
		buf_put(ret, piece, size);
		if (ret->size > SIZE_MOST)
			return err_create("%s is too large for %s", path, what);
	}
	return ferror(file) ? err_create_errno(errno, "%s", path) : buf_finish(ret);
}
