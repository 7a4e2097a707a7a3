/* See memleak_run.h. */
#include "cli/memleak/memleak_run.h"

#include <errno.h>
#include <unistd.h>
#include <wordexp.h>

#include "cli/cli.h"
#include "cli/memleak/memleak_kernel.h"
#include "cli/memleak/memleak_trace.h"
#include "ebpf/bpf_support.h"
#include "ebpf/target/launch.h"

/* Splits a command line into words as a shell does, and starts it. */
static int start_command(const char *line, pid_t *ret)
{
	wordexp_t words;
	struct err *err;
	int failed = wordexp(line, &words, WRDE_NOCMD | WRDE_UNDEF);

	if (failed == WRDE_SYNTAX)
		return cli_error(CLI_USAGE, "-c: in '%s' a quote or bracket is not closed", line);
	if (failed)
		return cli_error(CLI_USAGE,
				 "-c: '%s' is no plain command line; run a shell for pipes and the "
				 "like: -c \"sh -c '…'\"",
				 line);
	if (!words.we_wordc) {
		wordfree(&words);
		return cli_error(CLI_USAGE, "-c: the command is empty");
	}
	err = launch(words.we_wordv, ret);
	wordfree(&words);
	if (!err)
		return CLI_OK;

	int number = err_number(err);

	cli_report_err(err);
	return number == ENOENT ? CLI_NOT_FOUND : number ? CLI_CANNOT_RUN : CLI_FAILED;
}

int memleak_run(struct memleak_wanted *wanted)
{
	struct buf out, notes;
	bool kernel = !wanted->command && !wanted->pid;
	int status = cli_report_err(kernel ? bpf_support_check_kernel() : bpf_support_check());

	if (status == CLI_OK && wanted->command)
		status = start_command(wanted->command, &wanted->pid);
	if (status != CLI_OK)
		return status;
	buf_init_fd(&out, STDOUT_FILENO, "standard output");
	buf_init_fd(&notes, STDERR_FILENO, "standard error");
	out.shown = notes.shown = true;

	struct buf *said = wanted->json ? &notes : &out;

	if (wanted->command)
		buf_printf(said, "Executing '%s' and tracing the resulting process.\n",
			   wanted->command);
	if (kernel)
		buf_text(said, "Attaching to kernel allocators, Ctrl+C to quit.\n");
	else
		buf_printf(said, "Attaching to pid %d, Ctrl+C to quit.\n", (int)wanted->pid);
	status = kernel ? memleak_kernel(wanted, &out, said) : memleak_trace(wanted, &out, said);
	buf_deinit(&out);
	buf_deinit(&notes);
	return status;
}
