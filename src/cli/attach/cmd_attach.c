/* mallow attach: records a running program, by eBPF. */
#include <stdlib.h>

#include "base/compiler.h"
#include "cli/attach/attach_run.h"
#include "cli/cli.h"
#include "cli/options/options.h"
#include "cli/options/shared_options.h"

enum {
	OUTPUT,
	DURATION,
	OBJECT,
	PREFIX,
	STACKS,
	DEPTH,
	PROBES,
	COMPRESS,
	NO_FINISH,
	OPEN,
};

static const struct option_spec options_of_attach[] = {
	[OUTPUT] =
		{.name = "output",
		 .letter = 'o',
		 .value = "FILE",
		 .text = "the recording's name: %p pid, %t UNIX seconds, %e executable, %h host, "
			 "%n first free number, %% a percent sign",
		 .standard = "mallow_%e_%t_%p.mallow"},
	[DURATION] =
		{.name = "duration",
		 .letter = 'd',
		 .value = "SECONDS",
		 .text = "how long to record, in seconds, or a time such as 500ms or 2m; until "
			 "the program ends or Ctrl+C if not given"},
	[OBJECT] = {.name = "obj",
		    .letter = 'O',
		    .value = "OBJ",
		    .text = "record the allocator in this library (c, jemalloc, …) or file only"},
	[PREFIX] = {.name = "symbols-prefix",
		    .letter = 'S',
		    .value = "PREFIX",
		    .text = "the allocator's functions are called PREFIXmalloc, …"},
	[STACKS] = {.name = "stack-storage-size",
		    .value = "N",
		    .text = "different stacks that are kept at most",
		    .standard = "131072"},
	[DEPTH] = {.name = "perf-max-stack-depth",
		   .value = "N",
		   .text = "frames of a stack at most",
		   .standard = "256"},
	[PROBES] = {.name = "probes",
		    .value = "WAY",
		    .text = "how the kernel sets probes; the first that works if not given",
		    .choices = "session multi perf"},
	[COMPRESS] = COMPRESS_OPTION,
	[NO_FINISH] = {.name = "no-finish",
		       .text = "leave the recording as it was written; 'mallow finish' does the "
			       "rest"},
	[OPEN] = {.name = "open",
		  .text = "serve the recording while it grows, and open it in a browser"},
};

static bool read_pid(const char *word, pid_t *ret)
{
	char *end;
	unsigned long pid = strtoul(word, &end, 10);

	*ret = (pid_t)pid;
	if (*word >= '1' && *word <= '9' && !*end && pid <= INT32_MAX)
		return true;
	cli_error(CLI_USAGE, "'%s' is no PID: mallow attach takes that of a running process", word);
	return false;
}

static bool read_duration(const struct options *options, uint64_t *ret)
{
	const char *word = options->values[DURATION];

	*ret = 0;
	if (!word || seconds_read(word, ret))
		return true;
	cli_error(CLI_USAGE,
		  "'%s' is no value of --duration: allowed is seconds, such as 5 or 0.5, or a time "
		  "such as 500ms or 2m, up to 1000000000 seconds",
		  word);
	return false;
}

static bool read_wanted(const struct command *command, const struct options *options,
			struct attach_wanted *ret)
{
	uint64_t stacks, depth;

	*ret = (struct attach_wanted){
		.output = options->values[OUTPUT],
		.open = options->values[OPEN] != NULL,
		.finishing = {.wanted = !options->values[NO_FINISH]},
		.tracer = {.hooks = {.object = options->values[OBJECT],
				     .prefix = options->values[PREFIX]},
			   .way = -1},
	};
	if (!ret->output || !*ret->output)
		ret->output = command_option(command, OUTPUT)->standard;
	if (!options_operands(command, options, 1, 1, "a PID") ||
	    !read_pid(options->operands[0], &ret->pid) ||
	    !read_duration(options, &ret->duration_ns) ||
	    !options_limited(command, options, STACKS, 1, 131072, 2000000, &stacks) ||
	    !options_limited(command, options, DEPTH, 1, STACK_FRAMES_MAX, STACK_FRAMES_MAX,
			     &depth) ||
	    !options_choice(command, options, PROBES, &ret->tracer.way) ||
	    !compress_option(command, options, COMPRESS, &ret->finishing.compress))
		return false;
	ret->tracer.stacks_max = (uint32_t)stacks;
	ret->tracer.depth = (uint32_t)depth;
	return true;
}

static int run_attach(const struct command *command, const struct options *options)
{
	struct attach_wanted wanted;

	if (!read_wanted(command, options, &wanted))
		return CLI_USAGE;
	if (options->values[COMPRESS] && options->values[NO_FINISH])
		return cli_error(CLI_USAGE,
				 "--compress has no effect with --no-finish: leave one out");
	return attach_run(&wanted);
}

const struct command_body command_attach = {
	.options = options_of_attach,
	.option_count = ARRAY_COUNT(options_of_attach),
	.coloured = true,
	.names = true,
	.run = run_attach,
	.details =
		"Records a process that is already running, without stopping it, from now on: "
		"every "
		"allocation and free, with whole stacks. The recording is one as 'mallow run' "
		"makes "
		"it: all commands take it, also while it grows. Blocks from before are not in "
		"it.\n\n"
		"It ends with the process, after --duration, or with Ctrl+C; the process goes on "
		"then. A summary is printed to standard error.\n\n"
		"The kernel's uprobes see each call, as for 'mallow memleak', which says what they "
		"need and what they cost: some microseconds for each call, a hundred times as much "
		"as 'mallow run'. Calls that come faster than they can be read are lost, and "
		"counted.\n\n"
		"mallow attach $(pidof server) --duration 30\n\n"
		"mallow attach $(pidof server) -o server.mallow --open\n\n"
		"docs/attach.md says more.",
};
