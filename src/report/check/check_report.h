/*
 * What `mallow check` says, in one of its formats:
 *
 *	check_report_begin(&report, CHECK_TEXT, buf, &style, &about);
 *	check_report_add(&report, &subject);     // each recording
 *	check_report_end(&report);
 *
 * Failures to write stay in buf.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_REPORT_H
#define MALLOW_REPORT_CHECK_CHECK_REPORT_H

#include "analysis/checks/verdicts.h"
#include "analysis/sight/sight.h"
#include "hosted/json_writer.h"
#include "report/words/style.h"

#define CHECK_FORMAT(NAME, name) CHECK_##NAME,
enum check_format {
#include "report/check/check_formats.def"
};
#undef CHECK_FORMAT

#define CHECK_FORMAT(NAME, name) " " #name
/* " text junit …": +1 skips the first space. */
static const char check_formats[] =
#include "report/check/check_formats.def"
	;
#undef CHECK_FORMAT

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

struct check_report {
	enum check_format format;
	struct buf *buf;
	struct style style; /* of a text */
	const struct check_about *about;
	struct json_writer json; /* of SARIF */
	uint64_t subjects;
};

/* The writer of a format. begin and end may be NULL. */
struct check_writer {
	void (*begin)(struct check_report *report);
	void (*add)(struct check_report *report, const struct check_subject *subject);
	void (*end)(struct check_report *report);
};

#define CHECK_FORMAT(NAME, name) extern const struct check_writer check_writer_##name;
#include "report/check/check_formats.def"
#undef CHECK_FORMAT

/* about and buf must outlive the report. */
void check_report_begin(struct check_report *report, enum check_format format, struct buf *buf,
			const struct style *style, const struct check_about *about);
void check_report_add(struct check_report *report, const struct check_subject *subject);
void check_report_end(struct check_report *report);

#endif
