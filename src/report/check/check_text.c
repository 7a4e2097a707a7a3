/* `mallow check` as a text for a terminal. */
#include <string.h>

#include "report/check/check_words.h"
#include "report/words/format.h"
#include "report/text/text_report.h"
#include "report/words/unseen.h"

#define INDENT "          "

static void put_title(const struct check_report *report, const struct check_subject *subject)
{
	struct buf *buf = report->buf;

	buf_text(buf, report->subjects ? "\n" : "");
	style_begin(buf, &report->style, STYLE_STRONG);
	style_safe_text(buf, subject->path, strlen(subject->path));
	style_end(buf, &report->style);
	if (subject->facts) {
		buf_text(buf, ": ");
		text_report_title(buf, subject->facts, report->style.width);
	}
	buf_char(buf, '\n');
}

/* Writes the word that a line begins with: eight columns. */
static void put_word(const struct check_report *report, const char *word, bool bad)
{
	buf_text(report->buf, "  ");
	if (bad)
		style_printf(report->buf, &report->style, STYLE_WARN, "%-8s", word);
	else
		buf_printf(report->buf, "%-8s", word);
}

static void put_verdict(const struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	static const char *const words[] = {
		[VERDICT_HOLDS] = "holds",
		[VERDICT_BROKEN] = "broken",
		[VERDICT_UNKNOWN] = "unknown",
	};
	struct buf *buf = report->buf;

	put_word(report, words[verdict->state], verdict->state != VERDICT_HOLDS);
	check_verdict_put(buf, verdict);
	buf_char(buf, '\n');
	for (uint32_t i = 0; i < verdict->place_count; i++) {
		buf_text(buf, INDENT "  ");
		check_place_put(buf, report->about, verdict, &verdict->places[i]);
		buf_char(buf, '\n');
	}
	if (verdict->state != VERDICT_BROKEN)
		return;
	buf_text(buf, INDENT);
	check_command_put(buf, report->about, subject, verdict);
	buf_char(buf, '\n');
}

static void text_add(struct check_report *report, const struct check_subject *subject)
{
	put_title(report, subject);
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++) {
		if (!check_has_doubt(subject, doubt))
			continue;
		put_word(report, "doubt", true);
		check_doubt_put(report->buf, subject, doubt);
		if (subject->facts && !check_allows(report->about, subject, doubt))
			buf_printf(report->buf, " (%s)", check_doubt_option(doubt));
		buf_char(report->buf, '\n');
	}
	if (subject->started && !subject->of_run) {
		put_word(report, "note", false);
		unseen_put(report->buf, subject->facts, subject->started);
		buf_char(report->buf, '\n');
	}
	for (uint32_t i = 0; subject->verdicts && i < subject->verdicts->count; i++)
		put_verdict(report, subject, &subject->verdicts->items[i]);
}

const struct check_writer check_writer_text = {.add = text_add};
