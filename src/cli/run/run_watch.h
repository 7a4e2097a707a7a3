/*
 * Watches the recorded processes of `mallow run` from outside, in a thread: samples of their memory
 * at their interval, also while a program does nothing; when they end; and the files that they have
 * mapped, which are held open so that names can be read from them when they are gone. Writes
 * nothing while a program runs: a recording has one writer.
 */
#ifndef MALLOW_CLI_RUN_RUN_WATCH_H
#define MALLOW_CLI_RUN_RUN_WATCH_H

#include <stdint.h>

#include "cli/run/run_child.h"
#include "cli/run/run_registry.h"
#include "symbols/symbolizer.h"

struct run_watch;

/*
 * registry: borrowed; it tells of new images (run_registry_notify()). interval_ns: of samples, as
 * MEMORY_SAMPLES; 0: none. NULL: no thread could be started, and nothing is watched.
 */
struct run_watch *run_watch_start(struct run_registry *registry, uint64_t interval_ns);

/*
 * To be called after run_registry_end(); end NULL: the program could not be started. Ends the
 * thread, and adds to the recordings what was seen: docs/trace-format.md, section 4.4. What fails
 * is not said: finishing them will fail, too.
 */
void run_watch_stop(struct run_watch *watch, const struct run_child_end *end);

/*
 * Tells a symbolizer where files are that were held open, and are not what is at their path now.
 * They stay readable until run_watch_destroy().
 */
struct err *run_watch_places(const struct run_watch *watch, struct symbolizer *symbolizer);

/* After run_watch_stop(). Accepts NULL. */
void run_watch_destroy(struct run_watch *watch);

#endif
