/* The commands that need eBPF, where mallow was built without. */
#include "cli/attach/attach_background.h"
#include "cli/attach/attach_run.h"
#include "cli/cli.h"
#include "cli/memleak/memleak_run.h"

#define ABSENT                                                                                     \
	"this mallow was built without eBPF, by `make demo` or with -Debpf=false; `make build` "   \
	"has it (on x86-64 and AArch64)"

int memleak_run(struct memleak_wanted *wanted)
{
	return cli_error(CLI_FAILED, ABSENT);
}

int attach_run(struct attach_wanted *wanted)
{
	return cli_error(CLI_FAILED, ABSENT);
}

struct err *attach_background(pid_t pid, struct attach_background *ret)
{
	return err_create(ABSENT);
}

struct err *attach_background_end(struct attach_background *background)
{
	return NULL;
}
