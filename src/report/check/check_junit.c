/*
 * `mallow check` as JUnit's XML, which CI servers show as tests. A recording is a suite, a limit is
 * a test.
 */
#include <inttypes.h>

#include "hosted/cleanup.h"
#include "report/check/check_words.h"
#include "report/export/xml_text.h"

static void junit_begin(struct check_report *report)
{
	buf_text(report->buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
}

static void junit_end(struct check_report *report)
{
	buf_text(report->buf, "</testsuites>\n");
}

static void put_attribute(struct buf *buf, const char *name, const char *value)
{
	buf_printf(buf, " %s=\"", name);
	xml_text(buf, value);
	buf_char(buf, '"');
}

/* Writes a text as XML, each of its lines as a line. It is empty then. */
static void put_lines(struct buf *buf, struct buf *lines)
{
	xml_text(buf, check_text(buf, lines));
	buf_char(buf, '\n');
	lines->size = 0;
}

static void put_case(struct buf *buf, const struct check_subject *subject, const char *rule)
{
	buf_text(buf, "    <testcase");
	put_attribute(buf, "name", rule);
	put_attribute(buf, "classname", subject->path);
	buf_text(buf, " time=\"0\"");
}

/* Writes where it is broken: places, and the command that shows more. */
static void put_details(const struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;

	for (uint32_t i = 0; i < verdict->place_count; i++) {
		check_place_put(&line, report->about, verdict, &verdict->places[i]);
		put_lines(report->buf, &line);
	}
	check_command_put(&line, report->about, subject, verdict);
	put_lines(report->buf, &line);
}

static void put_verdict(const struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	cleanup(buf_deinit) struct buf rule = BUF_EMPTY, message = BUF_EMPTY;
	const char *unknown = report->about->allow_incomplete ? "skipped" : "error";
	bool broken = verdict->state == VERDICT_BROKEN;
	const char *element = broken ? "failure" : unknown;
	const char *name, *text;
	struct buf *buf = report->buf;

	check_rule_put(&rule, verdict->check, verdict->of_baseline);
	check_verdict_put(&message, verdict);
	name = check_text(buf, &rule);
	text = check_text(buf, &message);
	put_case(buf, subject, name);
	if (verdict->state == VERDICT_HOLDS) {
		buf_text(buf, "/>\n");
		return;
	}
	buf_printf(buf, ">\n      <%s", element);
	put_attribute(buf, "message", text);
	if (broken || !report->about->allow_incomplete)
		put_attribute(buf, "type", name);
	buf_char(buf, '>');
	if (broken) {
		buf_char(buf, '\n');
		put_details(report, subject, verdict);
	}
	buf_printf(buf, "</%s>\n    </testcase>\n", element);
}

/* Writes a test of its own: whether the recording can be judged. */
static void put_doubt(const struct check_report *report, const struct check_subject *subject,
		      enum check_doubt doubt)
{
	cleanup(buf_deinit) struct buf message = BUF_EMPTY;
	bool skipped = check_allows(report->about, subject, doubt);

	check_doubt_put(&message, subject, doubt);
	put_case(report->buf, subject, check_doubt_rule(doubt));
	buf_printf(report->buf, ">\n      <%s", skipped ? "skipped" : "error");
	put_attribute(report->buf, "message", check_text(report->buf, &message));
	if (!skipped)
		put_attribute(report->buf, "type", check_doubt_rule(doubt));
	buf_text(report->buf, "/>\n    </testcase>\n");
}

static void junit_add(struct check_report *report, const struct check_subject *subject)
{
	static const struct verdicts none;
	const struct verdicts *verdicts = subject->verdicts ? subject->verdicts : &none;
	uint32_t unsure = verdicts_count(verdicts, VERDICT_UNKNOWN);
	bool allowed = check_allows(report->about, subject, CHECK_DOUBT_INCOMPLETE);
	uint32_t skipped = allowed ? unsure : 0, errors = allowed ? 0 : unsure, doubts = 0;
	struct buf *buf = report->buf;

	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++) {
		if (!check_has_doubt(subject, doubt))
			continue;
		doubts++;
		if (check_allows(report->about, subject, doubt))
			skipped++;
		else
			errors++;
	}

	buf_text(buf, "  <testsuite");
	put_attribute(buf, "name", subject->path);
	buf_printf(buf, " tests=\"%" PRIu32 "\" failures=\"%" PRIu32 "\"", verdicts->count + doubts,
		   verdicts_count(verdicts, VERDICT_BROKEN));
	buf_printf(buf, " errors=\"%" PRIu32 "\" skipped=\"%" PRIu32 "\" time=\"0\">\n", errors,
		   skipped);
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++)
		if (check_has_doubt(subject, doubt))
			put_doubt(report, subject, doubt);
	for (uint32_t i = 0; i < verdicts->count; i++)
		put_verdict(report, subject, &verdicts->items[i]);
	buf_text(buf, "  </testsuite>\n");
}

const struct check_writer check_writer_junit = {
	.begin = junit_begin,
	.add = junit_add,
	.end = junit_end,
};
