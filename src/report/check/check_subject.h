/* What the writers of `mallow check` are given. */
#ifndef MALLOW_REPORT_CHECK_CHECK_SUBJECT_H
#define MALLOW_REPORT_CHECK_CHECK_SUBJECT_H

#include "analysis/checks/verdicts.h"
#include "analysis/sight/sight.h"

/* The same for all recordings. */
struct check_about {
	const char *tool;       /* how mallow was called, for commands */
	const char *conditions; /* options for commands that show the same sums: " --size-min 3" */
	const char *baseline;   /* quoted for a shell; NULL: `mallow diff` does not show it */
	const char *directory;  /* sources below it are named from there on; no '/' at its end */
	bool allow_incomplete, allow_unseen;
};

/* Why a recording cannot be judged. */
enum check_doubt {
	CHECK_DOUBT_INCOMPLETE, /* something of it is missing, or it could not be read */
	CHECK_DOUBT_UNSEEN,     /* not all memory was seen: analysis/sight/sight.h */
	CHECK_DOUBTS,
};

/* One recording, or several that are merged. */
struct check_subject {
	const char *path;                    /* as given; of merged ones the first */
	const char *operands;                /* the same, and all others, quoted for a shell */
	const struct recording_facts *facts; /* NULL: it could not be read */
	const struct verdicts *verdicts;     /* NULL if it could not */
	const struct unseen *unseen;         /* the first that counts; NULL: none */
	const struct unseen *started;        /* the first program that is not recorded; or NULL */
	bool of_run;     /* all of a run is judged, so a program that is not recorded counts */
	uint64_t beyond; /* as of resident_unseen() */
};

#endif
