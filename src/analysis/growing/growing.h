/*
 * A recording that is read while it is written. Each reading takes only the events that came since
 * the last one; the result is the same as if the file were read as a whole.
 *
 * The streams of a recording do not grow in step: a thread may take its time, be stopped by the
 * scheduler, and write its event a moment later. So the events of the last moment are not taken
 * yet. If an event comes still later than that, the recording is read from its start.
 *
 * Some recordings are always read as a whole, when they are needed: live tables, those that are
 * finished or damaged, and those made with cull, because an event in them may come at any time.
 *
 * Not for several threads at a time.
 */
#ifndef MALLOW_ANALYSIS_GROWING_H
#define MALLOW_ANALYSIS_GROWING_H

#include "analysis/recording.h"

struct growing;

/* Opens the file, and reads nothing yet. needs: as for recording_open(); not RECORDING_LIVE_LINE.
 */
struct err *growing_open(const char *path, unsigned int needs, struct growing **ret);
/* The same for an open file, which stays the caller's. name: for messages. */
struct err *growing_open_descriptor(const char *name, int fd, unsigned int needs,
				    struct growing **ret);
/* Accepts NULL. */
void growing_close(struct growing *growing);

/* Sets the progress callback of later looks. growing_finish() has its own. */
void growing_tell(struct growing *growing, recording_progress *progress, void *argument);

/* Takes what came since the last call. */
struct err *growing_advance(struct growing *growing);

/*
 * *ret: a recording of all that was written before the call, and perhaps of what came since, as
 * recording_open() would give it; but times may be 10 microseconds off, because the clock of ticks
 * is known the better the longer a recording is. The caller owns it, and closes it before the next
 * call: it shares stacks and blocks with what is taken then. May wait for 0.1 s, until nothing
 * earlier can come. Looks cost only what is new, unless errors of the heap are needed: then the
 * file is read as a whole.
 */
struct err *growing_look(struct growing *growing, struct recording **ret);

/*
 * Between two looks: lets the kernel have the pages of large columns, which it would else count as
 * this process's until the memory is short. Any thread may call it that keeps others from looking.
 */
void growing_give_back(const struct growing *growing);

/* Whether the next look, too, can cost only what is new. If not, nothing is kept for it. */
bool growing_goes_on(const struct growing *growing);

/*
 * Takes the rest. *ret: what recording_open() would give now; the caller owns it. After that only
 * growing_close() can be called.
 */
struct err *growing_finish(struct growing *growing, recording_progress *progress, void *argument,
			   struct recording **ret);

/* Whether anything was taken. */
bool growing_has_begun(const struct growing *growing);

#endif
