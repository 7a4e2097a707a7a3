/* mallow info: facts about recordings. */
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/recordings/loaded.h"
#include "cli/options/moment_operand.h"
#include "cli/recordings/newest.h"
#include "cli/options/options.h"
#include "cli/output/output.h"
#include "cli/recordings/recording_paths.h"
#include "cli/output/terminal.h"
#include "hosted/cleanup.h"
#include "report/json/info_json.h"
#include "report/text/info_text.h"

enum { JSON, TREE, MODULES, BYTES };

static const struct option_spec options_of_info[] = {
	[JSON] = {.name = "json", .text = "as JSON: one object, an array of several recordings"},
	[TREE] = {.name = "tree",
		  .text = "a line for each, children below their parents: as for a directory"},
	[MODULES] = {.name = "modules", .text = "with the files loaded and their build ids"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
};

static const int exclusive[][2] = {{JSON, TREE}, {TREE, MODULES}};

struct info {
	const struct options *options;
	const struct recording_paths *paths;
	struct buf *buf;
	struct style style;
	bool failed; /* a recording could not be opened; an error was printed */
};

static void write_json(struct info *info)
{
	bool array = info->paths->items.count > 1 || info->paths->directories;
	struct json_writer json;

	json_init(&json, info->buf, true);
	if (array)
		json_array(&json);
	for (size_t i = 0; i < info->paths->items.count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};

		if (loaded_open_checked(info->paths->items.items[i], NULL, &loaded))
			info_json_write(&json, loaded.recording,
					info->options->values[MODULES] != NULL);
		else
			info->failed = true;
	}
	if (array)
		json_end(&json);
}

static void write_text(struct info *info)
{
	bool first = true;

	for (size_t i = 0; i < info->paths->items.count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};

		if (!loaded_open_checked(info->paths->items.items[i], NULL, &loaded)) {
			info->failed = true;
			continue;
		}
		buf_text(info->buf, first ? "" : "\n");
		info_text_write(info->buf, &info->style, loaded.recording,
				info->options->values[MODULES] != NULL);
		first = false;
	}
}

static struct err *write_tree(struct info *info)
{
	cleanup(process_list_deinit) struct process_list list = {0};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < info->paths->items.count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};

		if (!loaded_open_checked(info->paths->items.items[i], NULL, &loaded))
			info->failed = true;
		else if (!process_list_has(&list, recording_facts(loaded.recording)->id))
			err = process_list_add(&list, loaded.recording);
	}
	if (!err)
		err = process_list_order(&list);
	if (!err && list.items.count)
		process_text_write(info->buf, &info->style, &list, PROCESS_TEXT_FACTS);
	return err;
}

static struct err *write_all(struct info *info)
{
	if (info->options->values[JSON])
		write_json(info);
	else if (info->options->values[TREE] ||
		 (info->paths->directories && !info->options->values[MODULES]))
		return write_tree(info);
	else
		write_text(info);
	return NULL;
}

static int run_info(const struct command *command, const struct options *given)
{
	struct options all = *given;
	const struct options *options = &all;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	struct info info = {.options = options, .paths = &paths};
	struct output output;
	struct err *err;

	if (!newest_operand(command, &all) || !moment_operands_refuse(command, options) ||
	    !options_operands(command, options, 1, INT32_MAX, "a recording") ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)))
		return CLI_USAGE;
	err = recording_paths_find(options, &paths);
	if (!err)
		err = output_open_page(&output);
	if (err)
		return cli_report_err(err);
	info.buf = &output.buf;
	info.style = terminal_style(STDOUT_FILENO);
	info.style.exact = options->values[BYTES] != NULL;
	err = output_close(&output, write_all(&info));
	if (err)
		return cli_report_err(err);
	return info.failed || paths.failed ? CLI_FAILED : CLI_OK;
}

const struct command_body command_info = {
	.options = options_of_info,
	.option_count = ARRAY_COUNT(options_of_info),
	.coloured = true,
	.paged = true,
	.run = run_info,
	.details =
		"A directory stands for all recordings in it. They are shown as the tree of their "
		"processes: who started whom, by fork or exec, and whether all was recorded.",
};
