#include "report/check/check_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/filter/moment.h"
#include "report/words/format.h"
#include "report/names/frame_name.h"
#include "report/words/shell_word.h"
#include "report/views/summary.h"
#include "report/words/unseen.h"

const char *check_text(struct buf *buf, struct buf *scratch)
{
	const char *text = buf_string(scratch);

	if (!text && !buf->failure)
		buf->failure = scratch->failure;
	return text ? text : "";
}

void check_rule_put(struct buf *buf, enum check check, bool of_baseline)
{
	buf_printf(buf, of_baseline ? "baseline-%s" : "max-%s", check_info(check)->name);
}

/* Exact: what is one byte above a limit must not read as if it were equal. */
static struct formatted amount(enum check check, uint64_t value)
{
	struct formatted text;

	switch (check_info(check)->unit) {
	case CHECK_UNIT_BYTES:
		return format_bytes(value, true);
	case CHECK_UNIT_RATE:
		snprintf(text.text, sizeof(text.text), "%.36s a second",
			 format_bytes(value, true).text);
		return text;
	case CHECK_UNIT_SHARE:
		return format_counted(value, "call", true);
	case CHECK_UNIT_COUNT:
		break;
	}
	return format_count(value, true);
}

static void put_limit(struct buf *buf, const struct verdict *verdict)
{
	buf_text(buf, amount(verdict->check, verdict->limit).text);
	if (check_info(verdict->check)->unit == CHECK_UNIT_SHARE && !verdict->of_baseline)
		buf_printf(buf, ", %s of %s", format_percent(verdict->limit, verdict->whole).text,
			   format_count(verdict->whole, true).text);
	if (verdict->of_baseline)
		buf_printf(buf, ", with %s in the baseline",
			   amount(verdict->check, verdict->before).text);
}

void check_verdict_put(struct buf *buf, const struct verdict *verdict)
{
	const struct check_info *info = check_info(verdict->check);

	buf_printf(buf, "%s ", info->name);
	if (verdict->state == VERDICT_UNKNOWN) {
		buf_printf(buf, "is not known: %s", verdict->unknown);
		return;
	}
	buf_text(buf, amount(verdict->check, verdict->value).text);
	if (info->unit == CHECK_UNIT_SHARE)
		buf_printf(buf, ", %s", format_percent(verdict->value, verdict->whole).text);
	if (verdict->state == VERDICT_BROKEN)
		buf_printf(buf, ": %s above the limit of ",
			   amount(verdict->check, verdict->value - verdict->limit).text);
	else
		buf_text(buf, ": within the limit of ");
	put_limit(buf, verdict);
}

const char *check_source(const struct check_about *about, const struct named_frame *frame)
{
	size_t length = strlen(about->directory);
	const char *file = frame ? frame->file : NULL;

	if (!file || strncmp(file, about->directory, length) != 0)
		return file;
	return file[length] == '/' && file[length + 1] ? file + length + 1 : file;
}

/* Writes where a frame is; without a file the library that it is in. */
static void put_source(struct buf *buf, const struct check_about *about,
		       const struct named_frame *frame)
{
	const char *file = check_source(about, frame);

	if (file) {
		buf_text(buf, "  ");
		style_safe_text(buf, file, strlen(file));
		if (frame->line)
			buf_printf(buf, ":%" PRIu32, frame->line);
	} else if (frame->has_symbol && frame->module_name) {
		buf_text(buf, "  [");
		style_safe_text(buf, frame->module_name, strlen(frame->module_name));
		buf_char(buf, ']');
	}
}

void check_place_put(struct buf *buf, const struct check_about *about,
		     const struct verdict *verdict, const struct verdict_place *place)
{
	static const struct style plain = {0};

	buf_printf(buf, "%s  ", amount(verdict->check, place->value).text);
	if (verdict->of_baseline)
		buf_printf(buf, "%s more  ",
			   amount(verdict->check, place->value - place->before).text);
	else if (check_info(verdict->check)->unit != CHECK_UNIT_RATE)
		buf_printf(buf, "%s  ", format_percent(place->value, verdict->value).text);
	if (!place->frame) {
		buf_text(buf, "[no stack]");
		return;
	}
	frame_name_put(buf, &plain, place->frame, 0);
	put_source(buf, about, place->frame);
	if (!place->call)
		return;
	buf_text(buf, ", calling ");
	frame_name_put(buf, &plain, place->call, 0);
}

void check_command_put(struct buf *buf, const struct check_about *about,
		       const struct check_subject *subject, const struct verdict *verdict)
{
	enum metric metric = check_info(verdict->check)->metric;

	shell_word_put(buf, about->tool);
	if (verdict->of_baseline && about->baseline)
		buf_printf(buf, " diff --sort %s%s %s %s", metric_info(metric)->name,
			   about->conditions, about->baseline, subject->operands);
	else
		buf_printf(buf, " report --sort %s%s %s", metric_info(metric)->name,
			   about->conditions, subject->operands);
}

static const struct {
	const char *rule, *text, *option;
} doubts[CHECK_DOUBTS] = {
	[CHECK_DOUBT_INCOMPLETE] = {"incomplete", "The recording is whole.", "--allow-incomplete"},
	[CHECK_DOUBT_UNSEEN] = {"unseen", "All memory was seen.", "--allow-unseen"},
};

const char *check_doubt_rule(enum check_doubt doubt)
{
	return doubts[doubt].rule;
}

const char *check_doubt_text(enum check_doubt doubt)
{
	return doubts[doubt].text;
}

const char *check_doubt_option(enum check_doubt doubt)
{
	return doubts[doubt].option;
}

bool check_has_doubt(const struct check_subject *subject, enum check_doubt doubt)
{
	if (doubt == CHECK_DOUBT_UNSEEN)
		return subject->unseen || subject->beyond || (subject->of_run && subject->started);
	return !subject->facts || !subject->facts->complete;
}

bool check_allows(const struct check_about *about, const struct check_subject *subject,
		  enum check_doubt doubt)
{
	return doubt == CHECK_DOUBT_UNSEEN ? about->allow_unseen
					   : about->allow_incomplete && subject->facts;
}

void check_gap_put(struct buf *buf, const struct recording_facts *facts)
{
	if (!facts) {
		buf_text(buf, "the recording could not be read");
		return;
	}
	buf_text(buf, "the recording is incomplete: ");
	if (facts->lost)
		buf_printf(buf, "%s lost", format_counted(facts->lost, "event", true).text);
	else if (facts->missing_chunks || facts->damaged_chunks)
		buf_printf(
			buf, "%s of the file missing or damaged",
			format_counted(facts->missing_chunks + facts->damaged_chunks, "chunk", true)
				.text);
	else if (facts->live)
		buf_text(buf, "a live table has no past");
	else if (facts->ended)
		buf_text(buf, "its last records are missing");
	else
		summary_put_end(buf, facts);
}

void check_doubt_put(struct buf *buf, const struct check_subject *subject, enum check_doubt doubt)
{
	if (doubt == CHECK_DOUBT_UNSEEN && subject->unseen) {
		buf_text(buf, "not all memory was seen: ");
		unseen_put(buf, subject->facts, subject->unseen);
	} else if (doubt == CHECK_DOUBT_UNSEEN && !subject->beyond) {
		buf_text(buf, "not all programs were seen: ");
		unseen_put(buf, subject->facts, subject->started);
	} else if (doubt == CHECK_DOUBT_UNSEEN) {
		buf_printf(buf,
			   "not all memory was seen: %s is resident beyond what malloc handed out, "
			   "and that is more. 'mallow report' says what it is",
			   format_bytes(subject->beyond, false).text);
	} else {
		check_gap_put(buf, subject->facts);
	}
}
