/*
 * `mallow check` as SARIF 2.1.0, as code scanning reads it. A limit is a rule; a result is a limit
 * that is broken, at the place that has most of it.
 */
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/encode.h"
#include "report/check/check_words.h"

#define SCHEMA                                                                                     \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                      \
	"sarif-schema-2.1.0.json"
#define ROOT "%SRCROOT%"

/* Writes the member name: {"text": …}. In such texts braces mark arguments, unless doubled. */
static void put_message(struct json_writer *json, const char *name, struct buf *text)
{
	cleanup(buf_deinit) struct buf doubled = BUF_EMPTY;

	check_text(json->buf, text);
	for (size_t i = 0; i < text->size; i++) {
		if (text->data[i] == '{' || text->data[i] == '}')
			buf_char(&doubled, text->data[i]);
		buf_char(&doubled, text->data[i]);
	}
	json_field_object(json, name);
	json_field_text(json, "text", check_text(json->buf, &doubled));
	json_end(json);
}

static void put_artifact(struct json_writer *json, const char *path)
{
	cleanup(buf_deinit) struct buf uri = BUF_EMPTY;

	buf_text(&uri, *path == '/' ? "file://" : "");
	uri_put(&uri, path);
	json_field_object(json, "artifactLocation");
	json_field_text(json, "uri", check_text(json->buf, &uri));
	if (*path != '/')
		json_field_text(json, "uriBaseId", ROOT);
	json_end(json);
}

/* Writes the members of a location: where a place is; without a source, the recording. */
static void put_place(struct check_report *report, const struct check_subject *subject,
		      const struct named_frame *frame)
{
	struct json_writer *json = &report->json;
	const char *file = check_source(report->about, frame);

	json_field_object(json, "physicalLocation");
	put_artifact(json, file ? file : subject->path);
	if (file && frame && frame->line) {
		json_field_object(json, "region");
		json_field_u64(json, "startLine", frame->line);
		json_end(json);
	}
	json_end(json);
	if (!frame)
		return;
	json_field_array(json, "logicalLocations");
	json_object(json);
	json_field_text(json, "fullyQualifiedName", frame->function);
	json_field_text(json, "kind", "function");
	json_end(json);
	json_end(json);
}

/* Writes what comes first in a result. It stays open. allowed: the user accepts it. */
static void begin_result(struct check_report *report, const char *rule, bool allowed,
			 struct buf *text)
{
	struct json_writer *json = &report->json;

	json_object(json);
	json_field_text(json, "ruleId", rule);
	json_field_text(json, "level", allowed ? "warning" : "error");
	put_message(json, "message", text);
}

static void put_location(struct check_report *report, const struct check_subject *subject,
			 const struct named_frame *frame)
{
	json_field_array(&report->json, "locations");
	json_object(&report->json);
	put_place(report, subject, frame);
	json_end(&report->json);
	json_end(&report->json);
}

static void put_other_places(struct check_report *report, const struct check_subject *subject,
			     const struct verdict *verdict)
{
	struct json_writer *json = &report->json;

	if (verdict->place_count < 2)
		return;
	json_field_array(json, "relatedLocations");
	for (uint32_t i = 1; i < verdict->place_count; i++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;

		check_place_put(&text, report->about, verdict, &verdict->places[i]);
		json_object(json);
		json_field_u64(json, "id", i);
		put_place(report, subject, verdict->places[i].frame);
		put_message(json, "message", &text);
		json_end(json);
	}
	json_end(json);
}

static void put_numbers(struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	struct json_writer *json = &report->json;

	json_field_object(json, "properties");
	json_field_text(json, "recording", subject->path);
	if (verdict->state == VERDICT_BROKEN) {
		json_field_u64(json, "value", verdict->value);
		json_field_u64(json, "limit", verdict->limit);
	}
	json_end(json);
}

static void put_verdict(struct check_report *report, const struct check_subject *subject,
			const struct verdict *verdict)
{
	cleanup(buf_deinit) struct buf rule = BUF_EMPTY, text = BUF_EMPTY;
	const struct verdict_place *place = verdict->place_count ? &verdict->places[0] : NULL;
	const char *name;

	check_rule_put(&rule, verdict->check, verdict->of_baseline);
	check_verdict_put(&text, verdict);
	if (place) {
		buf_text(&text, "\n");
		check_place_put(&text, report->about, verdict, place);
	}
	if (verdict->state == VERDICT_BROKEN) {
		buf_text(&text, "\n");
		check_command_put(&text, report->about, subject, verdict);
	}
	name = check_text(report->buf, &rule);
	begin_result(report, name,
		     verdict->state != VERDICT_BROKEN && report->about->allow_incomplete, &text);
	put_location(report, subject, place ? place->frame : NULL);
	put_other_places(report, subject, verdict);
	put_numbers(report, subject, verdict);
	json_end(&report->json);
}

static void sarif_add(struct check_report *report, const struct check_subject *subject)
{
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;

		if (!check_has_doubt(subject, doubt))
			continue;
		check_doubt_put(&text, subject, doubt);
		begin_result(report, check_doubt_rule(doubt),
			     check_allows(report->about, subject, doubt), &text);
		put_location(report, subject, NULL);
		json_end(&report->json);
	}
	for (uint32_t i = 0; subject->verdicts && i < subject->verdicts->count; i++)
		if (subject->verdicts->items[i].state != VERDICT_HOLDS)
			put_verdict(report, subject, &subject->verdicts->items[i]);
}

static void put_rule(struct json_writer *json, const char *id, const char *before, const char *text)
{
	cleanup(buf_deinit) struct buf words = BUF_EMPTY;

	buf_text(&words, before);
	buf_text(&words, text);
	json_object(json);
	json_field_text(json, "id", id);
	put_message(json, "shortDescription", &words);
	json_end(json);
}

static void put_rules(struct json_writer *json)
{
	json_field_array(json, "rules");
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++)
		put_rule(json, check_doubt_rule(doubt), check_doubt_text(doubt), "");
	for (enum check check = 0; check < CHECKS; check++) {
		cleanup(buf_deinit) struct buf id = BUF_EMPTY;

		put_rule(json, check_info(check)->option, "At most so many ",
			 check_info(check)->text);
		if (!check_has_baseline(check))
			continue;
		check_rule_put(&id, check, true);
		put_rule(json, check_text(json->buf, &id),
			 "No more than in the baseline: ", check_info(check)->text);
	}
	json_end(json);
}

/* Says where paths begin that are relative. */
static void put_root(struct json_writer *json, const char *directory)
{
	cleanup(buf_deinit) struct buf uri = BUF_EMPTY;

	buf_text(&uri, "file://");
	uri_put(&uri, directory);
	buf_char(&uri, '/');
	json_field_object(json, "originalUriBaseIds");
	json_field_object(json, ROOT);
	json_field_text(json, "uri", check_text(json->buf, &uri));
	json_end(json);
	json_end(json);
}

static void sarif_begin(struct check_report *report)
{
	struct json_writer *json = &report->json;

	json_init(json, report->buf, true);
	json_object(json);
	json_field_text(json, "$schema", SCHEMA);
	json_field_text(json, "version", "2.1.0");
	json_field_array(json, "runs");
	json_object(json);
	json_field_object(json, "tool");
	json_field_object(json, "driver");
	json_field_text(json, "name", "mallow");
	json_field_text(json, "version", MALLOW_VERSION);
	put_rules(json);
	json_end(json);
	json_end(json);
	put_root(json, report->about->directory);
	json_field_array(json, "results");
}

static void sarif_end(struct check_report *report)
{
	for (int open = 0; open < 4; open++) // results, run, runs, document
		json_end(&report->json);
}

const struct check_writer check_writer_sarif = {
	.begin = sarif_begin,
	.add = sarif_add,
	.end = sarif_end,
};
