/* mallow info: facts about recordings. */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "hosted/cleanup.h"
#include "report/info_json.h"
#include "report/info_text.h"

enum { JSON, MODULES, BYTES };

static const struct option_spec options_of_info[] = {
	[JSON] = {.name = "json", .text = "as JSON: one object, an array of several recordings"},
	[MODULES] = {.name = "modules", .text = "with the files loaded and their build ids"},
	[BYTES] = {.name = "bytes", .text = "sizes and counts to the last digit"},
};

/* All recordings are opened, also behind one that cannot be: false if any could not. */
static bool write_all(const struct options *options, struct buf *buf)
{
	bool modules = options->values[MODULES] != NULL, good = true, first = true;
	struct style style = terminal_style(STDOUT_FILENO);
	struct json_writer json;

	style.exact = options->values[BYTES] != NULL;
	json_init(&json, buf, true);
	if (options->values[JSON] && options->operand_count > 1)
		json_array(&json);
	for (int i = 0; i < options->operand_count; i++) {
		cleanup(loaded_close) struct loaded loaded = {0};

		if (!loaded_open_checked(options->operands[i], &loaded)) {
			good = false;
			continue;
		}
		if (options->values[JSON]) {
			info_json_write(&json, loaded.recording, modules);
			continue;
		}
		buf_text(buf, first ? "" : "\n");
		info_text_write(buf, &style, loaded.recording, modules);
		first = false;
	}
	if (options->values[JSON] && options->operand_count > 1)
		json_end(&json);
	return good;
}

static int run(const struct command *command, const struct options *options)
{
	struct output output;
	struct err *err;
	bool good;

	if (!options_operands(command, options, 1, INT32_MAX, "a recording"))
		return CLI_USAGE;
	err = output_open(NULL, &output);
	if (err)
		return cli_report_err(err);
	good = write_all(options, &output.buf);
	err = output_close(&output, NULL);
	if (err)
		return cli_report_err(err);
	return good ? CLI_OK : CLI_FAILED;
}

const struct command_body command_info = {
	.options = options_of_info,
	.option_count = sizeof(options_of_info) / sizeof(options_of_info[0]),
	.run = run,
};
