#include "cli/output/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "hosted/now.h"

#define QUIET_NS 300000000
#define BAR      30

void progress_init(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.terminal = isatty(STDERR_FILENO),
		.percent = -1,
		.begun_ns = now_ns(),
	};
}

void progress_update(void *argument, uint64_t done, uint64_t total)
{
	struct progress *progress = argument;
	int percent = total ? (int)(100.0 * (double)done / (double)total) : 0;
	char bar[3 * BAR + 1], *out = bar;

	if (!progress->terminal || percent == progress->percent ||
	    now_ns() - progress->begun_ns < QUIET_NS)
		return;
	percent = percent > 100 ? 100 : percent;
	for (int i = 0; i < BAR; i++)
		out += sprintf(out, "%s",
			       i * 100 < percent * BAR ? "\xe2\x96\x88" : "\xe2\x96\x91");
	fprintf(stderr, "\r\033[K%s %s %3d %%", progress->what, bar, percent);
	fflush(stderr);
	progress->percent = percent;
	progress->drawn = true;
}

void progress_deinit(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}
