/*
 * A recording without what tells where it was made: paths (their last parts stay), arguments, the
 * environment, the host. Names of functions, threads, marks and pools stay: they are what a report
 * is about. JIT compilers write paths into names of functions: of such a path the last part stays.
 */
#ifndef MALLOW_ANALYSIS_NAMES_ANONYMOUS_H
#define MALLOW_ANALYSIS_NAMES_ANONYMOUS_H

#include "analysis/recording.h"
#include "hosted/buf.h"

enum anonymity {
	ANONYMITY_NONE,
	ANONYMITY_PATHS, /* as above */
	ANONYMITY_FULL,  /* names of functions, too, are hashes of them */
};

/* Whether a field of the process stays: the program, by its name alone, and our own version. */
bool anonymous_keeps(uint64_t field);

/*
 * Changes the recording's facts and modules. Names of frames are looked up by the paths of modules:
 * so first symbolized_anonymize(), if names are wanted.
 */
void recording_anonymize(struct recording *recording);

/*
 * Writes a text without its path: "at /home/a/my files/b.js:3" becomes "at b.js:3". A path may have
 * blanks in it. So everything from the start of the first path to the last '/' is left out, also
 * text between two paths. The '/' of operator/ does not count.
 */
void anonymous_put(struct buf *buf, const char *text);

/*
 * Writes the name of a function as it is shown then. A hash is the same in every recording, so two
 * of them can be compared; who guesses a name can tell whether it is there.
 */
void anonymous_put_function(struct buf *buf, const char *name, enum anonymity anonymity);

#endif
