/*
 * `mallow check` as annotations that GitHub's runners find in the output of a job. What holds
 * writes nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/check/check_words.h"

/*
 * Writes a text so that it cannot end the command or one of its properties. Other control
 * characters would reach the terminal of who reads the log.
 */
static void put_escaped(struct buf *buf, const char *text, bool property)
{
	const char *special = property ? "%\r\n:," : "%\r\n";

	while (*text) {
		size_t length = strcspn(text, special);

		style_safe_text(buf, text, length);
		text += length;
		if (*text)
			buf_printf(buf, "%%%02X", (unsigned char)*text++);
	}
}

/* Writes the command up to its message. place NULL: none. */
static void put_head(const struct check_report *report, const char *level, const char *rule,
		     const struct verdict_place *place)
{
	const char *file = place ? check_source(report->about, place->frame) : NULL;
	struct buf *buf = report->buf;

	buf_printf(buf, "::%s ", level);
	if (file) {
		buf_text(buf, "file=");
		put_escaped(buf, file, true);
		if (place->frame->line)
			buf_printf(buf, ",line=%" PRIu32, place->frame->line);
		buf_char(buf, ',');
	}
	buf_text(buf, "title=mallow check ");
	put_escaped(buf, rule, true);
	buf_text(buf, "::");
}

static const char *level(const struct check_report *report, bool broken)
{
	return broken || !report->about->allow_incomplete ? "error" : "warning";
}

/* Writes the message of a verdict: lines. */
static void put_message(struct buf *buf, const struct check_report *report,
			const struct check_subject *subject, const struct verdict *verdict)
{
	check_verdict_put(buf, verdict);
	for (uint32_t i = 0; i < verdict->place_count; i++) {
		buf_text(buf, "\n  ");
		check_place_put(buf, report->about, verdict, &verdict->places[i]);
	}
	buf_char(buf, '\n');
	check_command_put(buf, report->about, subject, verdict);
}

static void put_verdict(const struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	cleanup(buf_deinit) struct buf rule = BUF_EMPTY, message = BUF_EMPTY;
	bool broken = verdict->state == VERDICT_BROKEN;

	if (verdict->state == VERDICT_HOLDS)
		return;
	check_rule_put(&rule, verdict->check, verdict->of_baseline);
	put_message(&message, report, subject, verdict);
	put_head(report, level(report, broken), check_text(report->buf, &rule),
		 verdict->place_count ? &verdict->places[0] : NULL);
	put_escaped(report->buf, check_text(report->buf, &message), false);
	buf_char(report->buf, '\n');
}

static void github_add(struct check_report *report, const struct check_subject *subject)
{
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;

		if (!check_has_doubt(subject, doubt))
			continue;
		check_doubt_put(&text, subject, doubt);
		put_head(report, check_allows(report->about, subject, doubt) ? "warning" : "error",
			 check_doubt_rule(doubt), NULL);
		put_escaped(report->buf, subject->path, false);
		buf_text(report->buf, ": ");
		put_escaped(report->buf, check_text(report->buf, &text), false);
		buf_char(report->buf, '\n');
	}
	for (uint32_t i = 0; subject->verdicts && i < subject->verdicts->count; i++)
		put_verdict(report, subject, &subject->verdicts->items[i]);
}

const struct check_writer check_writer_github = {.add = github_add};
