/* mallow memleak, where it was not built. */
#include "cli/cli.h"
#include "cli/memleak_run.h"

int memleak_run(struct memleak_wanted *wanted)
{
	return cli_error(CLI_FAILED, "this mallow was built without eBPF (meson's -Debpf=false, or "
				     "for another machine than x86-64)");
}
