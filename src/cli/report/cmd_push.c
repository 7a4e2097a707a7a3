/* mallow push: sends a recording, or another profile, to a store of profiles. */
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/push_options.h"
#include "cli/options/shared_options.h"
#include "cli/recordings/loaded.h"
#include "hosted/cleanup.h"
#include "report/export/pprof.h"

enum { PUSH_HEADERS, LABEL };

static const struct option_spec options_of_push[] = {
	[PUSH_HEADERS] = PUSH_HEADERS_OPTION,
	[LABEL] = LABEL_OPTION,
};

static int send_profile(const struct push_options *wanted, const struct buf *pprof)
{
	const struct push_profile profile = {
		.pprof = pprof->data,
		.size = pprof->size,
		.labels = wanted->labels,
		.label_count = wanted->label_count,
	};
	cleanup(buf_deinit) struct buf why = BUF_EMPTY;
	enum push_result result;
	struct err *err = push_send(&wanted->target, &profile, wanted->headers, &result, &why);

	if (err)
		return cli_report_err(err);
	return result == PUSH_TAKEN
		       ? CLI_OK
		       : cli_error(CLI_FAILED, "%s did not take the profile: %s",
				   wanted->target.url, buf_string(&why) ? buf_string(&why) : "");
}

static int run_push(const struct command *command, const struct options *options)
{
	cleanup(push_options_deinit) struct push_options wanted = {0};
	cleanup(loaded_close) struct loaded loaded = {0};
	cleanup(buf_deinit) struct buf pprof = BUF_EMPTY;
	const struct naming naming = {0};
	struct err *err;
	int status;

	if (!options_operands(command, options, 2, 2, "a file, and where to push it"))
		return CLI_USAGE;
	if (!loaded_open(options->operands[0], &naming, &loaded))
		return CLI_FAILED;
	status = push_options_read(options, options->operands[1], options->values[PUSH_HEADERS],
				   recording_facts(loaded.recording)->program, &wanted);
	if (status != CLI_OK)
		return status;
	err = pprof_write(&pprof, loaded.recording, loaded.symbolized,
			  &(struct pprof_options){.samples = PPROF_SAMPLES, .plain = true});
	return err ? cli_report_err(err) : send_profile(&wanted, &pprof);
}

const struct command_body command_push = {
	.options = options_of_push,
	.option_count = ARRAY_COUNT(options_of_push),
	.names = true,
	.run = run_push,
	.details = "Sends all sums of a recording, or of any file that mallow opens, as one "
		   "profile: for a run that is over. 'mallow live --push' sends what a program has "
		   "live while it runs.\n\n"
		   "mallow push app.mallow pyroscope+https://profiles.example --label version=1.2",
};
