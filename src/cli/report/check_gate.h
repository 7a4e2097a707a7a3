/* The work of `mallow check`: opens recordings, judges them, and writes what comes out. */
#ifndef MALLOW_CLI_REPORT_CHECK_GATE_H
#define MALLOW_CLI_REPORT_CHECK_GATE_H

#include "analysis/checks/verdicts.h"
#include "cli/recordings/narrowed.h"
#include "cli/recordings/recording_paths.h"
#include "cli/report/exporter.h"
#include "report/check/check_report.h"

struct check_wanted {
	struct check_limits limits;
	struct narrowed_wanted sides; /* how recordings and the baseline are opened */
	const char *baseline;         /* a file; NULL: none */
	uint64_t tolerance;           /* as of struct check_baseline */
	bool merge;                   /* all recordings as one */
	struct check_about about;
	enum check_format format;
	const char *output; /* as of output_open() */
	/*
	 * The recording as a page in one file, with what was said of it: where it is written, and
	 * what but for `check`. NULL: none. It wants one recording.
	 */
	const char *html_output;
	struct html_export html;
};

/* Judges all recordings. Returns the exit status; errors were printed. */
int check_gate_run(const struct check_wanted *wanted, const struct recording_paths *paths);

/* Prints an error because of which nothing can be judged. Returns the exit status. */
int check_gate_unsure(struct err *err);

#endif
