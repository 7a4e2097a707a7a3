/* mallow memleak: what a running process has allocated and not freed, by eBPF. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/memleak/memleak_run.h"
#include "cli/options/options.h"

enum {
	PID,
	TRACE,
	SHOW_ALLOCS,
	OLDER,
	COMMAND_LINE,
	COMBINED_ONLY,
	MISSING_FREE,
	SAMPLE_RATE,
	TOP,
	MIN_SIZE,
	MAX_SIZE,
	OBJECT,
	SORT,
	PREFIX,
	PERCPU,
	ALL_PAGES,
	FOLLOW,
	VERBOSE,
	JSON,
	BLOCKS,
	STACKS,
	DEPTH,
	PROBES,
};

static const struct option_spec options_of_memleak[] = {
	[PID] = {.name = "pid", .letter = 'p', .value = "PID", .text = "the process to trace"},
	[TRACE] = {.name = "trace",
		   .letter = 't',
		   .text = "print each call of an allocator's function, and no reports"},
	[SHOW_ALLOCS] = {.name = "show-allocs",
			 .letter = 'a',
			 .text = "list the address and size of each allocation, too"},
	[OLDER] = {.name = "older",
		   .letter = 'o',
		   .value = "MS",
		   .text = "leave out allocations that are younger, in milliseconds",
		   .standard = "500"},
	[COMMAND_LINE] = {.name = "command",
			  .letter = 'c',
			  .value = "COMMAND",
			  .text = "run a program, with arguments, and trace it from its first "
				  "allocation"},
	[COMBINED_ONLY] = {.name = "combined-only",
			   .letter = 'C',
			   .text = "keep only sums for each stack: reports cost less, but there "
				   "are neither ages nor addresses"},
	[MISSING_FREE] = {.name = "wa-missing-free",
			  .letter = 'F',
			  .text = "an allocation at the address of another frees that one: this is "
				  "always so"},
	[SAMPLE_RATE] = {.name = "sample-rate",
			 .letter = 's',
			 .value = "N",
			 .text = "record one allocation of N, chosen at random; sums are scaled up",
			 .standard = "1"},
	[TOP] = {.name = "top",
		 .letter = 'T',
		 .value = "N",
		 .text = "stacks shown, 0 for all",
		 .standard = "10"},
	[MIN_SIZE] = {.name = "min-size",
		      .letter = 'z',
		      .value = "BYTES",
		      .text = "record only allocations of this size and larger"},
	[MAX_SIZE] = {.name = "max-size",
		      .letter = 'Z',
		      .value = "BYTES",
		      .text = "record only allocations of this size and smaller"},
	[OBJECT] = {.name = "obj",
		    .letter = 'O',
		    .value = "OBJ",
		    .text = "trace the allocator in this library (c, jemalloc, …) or file only"},
	[SORT] = {.name = "sort",
		  .value = "KEY",
		  .text = "which stacks count as the top ones: those with most bytes, or most "
			  "allocations; size if not given",
		  .choices = "size count"},
	[PREFIX] = {.name = "symbols-prefix",
		    .letter = 'S',
		    .value = "PREFIX",
		    .text = "the allocator's functions are called PREFIXmalloc, …"},
	[PERCPU] = {.name = "percpu",
		    .letter = 'P',
		    .text = "the kernel's memory by processor, too; not for a process"},
	[ALL_PAGES] = {.name = "all-pages",
		       .text = "of the kernel: pages of programs and files among the stacks, too"},
	[FOLLOW] = {.name = "follow", .text = "trace children of the process, too"},
	[VERBOSE] = {.name = "verbose",
		     .letter = 'v',
		     .text = "the address of each frame, and the whole path of its source"},
	[JSON] = {.name = "json", .text = "each report as one line of JSON"},
	[BLOCKS] = {.name = "blocks",
		    .value = "N",
		    .text = "live allocations that are kept at most",
		    .standard = "1000000"},
	[STACKS] = {.name = "stack-storage-size",
		    .value = "N",
		    .text = "different stacks that are kept at most",
		    .standard = "131072"},
	[DEPTH] = {.name = "perf-max-stack-depth",
		   .value = "N",
		   .text = "frames of a stack at most, 0 for no stacks",
		   .standard = "256"},
	[PROBES] = {.name = "probes",
		    .value = "WAY",
		    .text = "how the kernel sets probes; the first that works if not given",
		    .choices = "session multi perf"},
};

static const int exclusive[][2] = {
	{PID, COMMAND_LINE},          {TRACE, SHOW_ALLOCS},   {TRACE, COMBINED_ONLY}, {TRACE, JSON},
	{SHOW_ALLOCS, COMBINED_ONLY}, {OLDER, COMBINED_ONLY}, {JSON, VERBOSE},
};

static bool read_tracer(const struct command *command, const struct options *options,
			struct tracer_options *ret)
{
	uint64_t blocks, stacks, depth;

	if (!options_size(command, options, MIN_SIZE, 0, &ret->min_size) ||
	    !options_size(command, options, MAX_SIZE, UINT64_MAX, &ret->max_size) ||
	    !options_number(command, options, SAMPLE_RATE, 1, 1, &ret->sample_rate) ||
	    !options_limited(command, options, BLOCKS, 1, 1000000, 100000000, &blocks) ||
	    !options_limited(command, options, STACKS, 1, 131072, 2000000, &stacks) ||
	    !options_limited(command, options, DEPTH, 0, STACK_FRAMES_MAX, STACK_FRAMES_MAX,
			     &depth))
		return false;
	if (ret->min_size > ret->max_size) {
		cli_error(CLI_USAGE, "min_size (-z) can't be greater than max_size (-Z)");
		return false;
	}
	ret->blocks_max = (uint32_t)blocks;
	ret->stacks_max = (uint32_t)stacks;
	ret->depth = (uint32_t)depth;
	ret->combined = options->values[COMBINED_ONLY] != NULL;
	ret->trace = options->values[TRACE] != NULL;
	ret->hooks.object = options->values[OBJECT];
	ret->hooks.prefix = options->values[PREFIX];
	ret->way = -1;
	return options_choice(command, options, PROBES, &ret->way);
}

/* A positive number of seconds, which may have a fraction. */
static bool read_seconds(const char *text, uint64_t *ret_ns)
{
	if (seconds_read(text, ret_ns))
		return true;
	cli_error(
		CLI_USAGE,
		"interval: '%s' is no number of seconds (-c takes the program and its arguments as "
		"one word: -c 'program argument')",
		text);
	return false;
}

static bool read_count(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (end == text || *end || errno || *text == '-' || !*ret) {
		cli_error(CLI_USAGE, "count: '%s' is no number of reports", text);
		return false;
	}
	return true;
}

/* Whether the options fit what is traced: a process, or the kernel. */
static bool check_subject(const struct command *command, const struct options *options)
{
	static const int of_kernel[] = {PERCPU, ALL_PAGES};
	static const int of_process[] = {OBJECT, PREFIX, FOLLOW, PROBES};
	bool process = options->values[PID] || options->values[COMMAND_LINE];
	const int *others = process ? of_kernel : of_process;
	size_t count = process ? ARRAY_COUNT(of_kernel) : ARRAY_COUNT(of_process);

	for (size_t i = 0; i < count; i++) {
		const char *name = command_option(command, (size_t)others[i])->name;

		if (!options->values[others[i]])
			continue;
		if (process)
			cli_error(CLI_USAGE, "--%s is about the kernel's memory, not a process's",
				  name);
		else
			cli_error(CLI_USAGE,
				  "--%s is about a process: give -p PID or -c COMMAND (without "
				  "them the kernel's own memory is traced)",
				  name);
		return false;
	}
	return true;
}

static bool read_wanted(const struct command *command, const struct options *options,
			struct memleak_wanted *ret)
{
	uint64_t pid, older;
	int sort = 0;

	if (!options_operands(command, options, 0, 2, "interval and count") ||
	    !options_exclusive(command, options, exclusive, ARRAY_COUNT(exclusive)) ||
	    !check_subject(command, options) || !read_tracer(command, options, &ret->tracer) ||
	    !options_number(command, options, PID, 1, 0, &pid) ||
	    !options_number(command, options, OLDER, 0, 500, &older) ||
	    !options_number(command, options, TOP, 0, 10, &ret->top) ||
	    !options_choice(command, options, SORT, &sort))
		return false;
	if (pid > INT32_MAX || older > UINT64_MAX / 1000000) {
		cli_error(CLI_USAGE, "%s is too large", pid > INT32_MAX ? "--pid" : "--older");
		return false;
	}
	ret->pid = (pid_t)pid;
	ret->older_ns = older * 1000000;
	ret->older_given = options->values[OLDER] != NULL;
	ret->by_count = sort == 1;
	ret->percpu = options->values[PERCPU] != NULL;
	ret->all_pages = options->values[ALL_PAGES] != NULL;
	ret->follow = options->values[FOLLOW] != NULL;
	ret->list_blocks = options->values[SHOW_ALLOCS] != NULL;
	ret->addresses = options->values[VERBOSE] != NULL;
	ret->json = options->values[JSON] != NULL;
	ret->interval_ns = 5000000000;
	return (options->operand_count < 1 ||
		read_seconds(options->operands[0], &ret->interval_ns)) &&
	       (options->operand_count < 2 || read_count(options->operands[1], &ret->count));
}

static int run_memleak(const struct command *command, const struct options *options)
{
	struct memleak_wanted wanted = {.command = options->values[COMMAND_LINE]};

	if (!read_wanted(command, options, &wanted))
		return CLI_USAGE;
	return memleak_run(&wanted);
}

const struct command_body command_memleak = {
	.options = options_of_memleak,
	.option_count = ARRAY_COUNT(options_of_memleak),
	.names = true,
	.run = run_memleak,
	.details =
		"Attaches to a process that is already running, without stopping it, or to the "
		"kernel, and prints "
		"what it has allocated since then and not freed, for each stack: every interval "
		"(5 seconds if not given), count times or until the process ends or Ctrl+C. The "
		"largest stack stands last. Blocks from before are not seen.\n\n"
		"The kernel's uprobes see each call of malloc, free and the like, in the C library "
		"or in any other allocator: jemalloc, tcmalloc, mimalloc, also linked into the "
		"program, in a container, or in a library that was deleted since. Stacks are whole "
		"without frame pointers. That needs Linux 6.1 on x86-64 or AArch64, and root or "
		"the "
		"capabilities BPF, PERFMON, SYS_PTRACE and CHECKPOINT_RESTORE.\n\n"
		"Without -p and -c the kernel's own memory is traced: kmalloc, its caches and its "
		"pages, by the kernel's stacks. That needs root, or the capabilities BPF, PERFMON "
		"and SYSLOG.\n\n"
		"A call costs the program some microseconds: -z, which leaves out small "
		"allocations, "
		"and -s, which leaves out most of them, halve that at best. 'mallow run' is far "
		"cheaper, but has to start the program.\n\n"
		"mallow memleak -p $(pidof server)\n\n"
		"mallow memleak -p $(pidof server) -o 60000 -T 3 10\n\n"
		"mallow memleak -T 5 10\n\n"
		"mallow memleak -c './server --port 80' 1 10\n\n"
		"docs/memleak.md says what is counted, and how it differs from bcc's memleak.",
};
