/* The end of `mallow run`: prints a summary on stderr, and finishes the recordings. */
#ifndef MALLOW_CLI_RUN_RUN_SUMMARY_H
#define MALLOW_CLI_RUN_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/run_ahead.h"
#include "cli/run/run_child.h"
#include "cli/run/run_registry.h"
#include "cli/run/run_watch.h"
#include "finish/finish.h"

struct run_finishing {
	bool wanted;
	enum finish_compress compress;
	bool started_later;      /* --disable-by-default: having no recording is normal */
	const char *output;      /* --output as given, or NULL */
	bool private_slots;      /* --slots private */
	struct run_ahead *ahead; /* what was loaded while the program ran; NULL: nothing */
	struct run_watch *watch; /* what was seen meanwhile; NULL: nothing */
	/* Finds the names; taken over. NULL: one is made. */
	struct symbolizer *symbolizer;
};

/*
 * end: how the program itself ended. Each recording is loaded once, for the
 * summary and for finishing; one that is still being written is left alone. Never fails: prints
 * what cannot be shown or finished.
 */
void run_summary_print(const char *program, const struct run_child_end *end,
		       struct run_images *images, const struct run_finishing *finishing);

#endif
