/*
 * What changed in a recording as a profile of pprof: pprof_change EARLIER LATER, two states of one,
 * writes it to standard output. tests/e2e/tool/test_export_pprof.py compares.
 */
#include <stdio.h>
#include <unistd.h>

#include "report/export/pprof.h"

static struct err *write_change(const struct recording *since, const char *path)
{
	struct symbolized *symbolized = NULL;
	struct recording *now = NULL;
	struct err *err = recording_open(path, RECORDING_SUMS, NULL, NULL, &now);
	struct buf buf;

	buf_init_fd(&buf, STDOUT_FILENO, "standard output");
	if (!err)
		err = symbolized_create(now, NULL, &symbolized);
	if (!err)
		err = pprof_write(
			&buf, now, symbolized,
			&(struct pprof_options){.since = since, .samples = PPROF_SAMPLES});
	if (!err)
		err = buf_finish(&buf);
	buf_deinit(&buf);
	symbolized_destroy(symbolized);
	recording_close(now);
	return err;
}

int main(int argc, char **argv)
{
	struct recording *since = NULL;
	struct err *err;

	if (argc != 3)
		return 2;
	err = recording_open(argv[1], RECORDING_SUMS, NULL, NULL, &since);
	if (!err)
		err = write_change(since, argv[2]);
	recording_close(since);
	if (err)
		fprintf(stderr, "%s\n", err_message(err));
	err_destroy(err);
	return err ? 1 : 0;
}
