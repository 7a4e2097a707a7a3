/* `mallow run --open`: shows what was recorded in a browser. */
#ifndef MALLOW_CLI_RUN_RUN_SERVE_H
#define MALLOW_CLI_RUN_RUN_SERVE_H

#include "cli/run/run_registry.h"

/*
 * Serves the recordings of a run on this machine, and opens a browser, until SIGINT or SIGTERM. The
 * first recording, which is the program's own, is the one that is shown. What fails is printed.
 * Those that no path of ours leads to are left out: the summary has said where they are.
 */
void run_serve(const struct run_images *images);

#endif
