/*
 * Many filters on one recording: filter_query RECORDING, a filter a line on standard input, its
 * conditions name=value by tabs, CR for newlines in them. Writes a line of JSON for each:
 * {"blocks": the rows that match, "report": as of `mallow report --json`}, or {"error": …}.
 * tests/e2e/tool/test_filter.py compares. With
 * --all behind the recording also "function", "thread" … as of --by, and "size_histogram",
 * "lifetime_histogram", which tests/e2e/tool/test_report_by.py compares.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/filter/filtered.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/json/json_report.h"

static struct err *read_filter(char *line, struct filter *filter)
{
	struct err *err = NULL;
	char *rest = NULL;

	for (char *word = strtok_r(line, "\t\n", &rest); word && !err;
	     word = strtok_r(NULL, "\t\n", &rest)) {
		char *value = strchr(word, '=');

		if (!value)
			return err_create("'%s' has no =", word);
		*value++ = '\0';
		for (char *c = value; (c = strchr(c, '\r'));)
			*c = '\n';
		err = filter_set(filter, word, value);
	}
	return err;
}

static void put_blocks(struct json_writer *json, const struct filter_match *match)
{
	json_key(json, "blocks");
	json_array(json);
	for (uint64_t i = 0; i < match->blocks; i++)
		if (match->words[i / 64] >> i % 64 & 1)
			json_u64(json, i);
	json_end(json);
}

static struct err *put_breakdowns(struct json_writer *json, const struct report_subject *subject)
{
	static const enum block_groups_by keys[] = {
		BLOCK_GROUPS_FUNCTION, BLOCK_GROUPS_FRAME,  BLOCK_GROUPS_FILE, BLOCK_GROUPS_LINE,
		BLOCK_GROUPS_MODULE,   BLOCK_GROUPS_THREAD, BLOCK_GROUPS_SIZE, BLOCK_GROUPS_MARK};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_COUNT(keys); i++) {
		struct breakdown_view view = {.by = keys[i], .metric = METRIC_PEAK};

		err = breakdown_view_make(&view, subject);
		if (!err) {
			json_key(json, block_groups_word(keys[i]));
			json_object(json);
			json_report_breakdown(json, &view);
			json_end(json);
		}
		breakdown_view_deinit(&view);
	}
	return err;
}

static struct err *put_histograms(struct json_writer *json, const struct report_subject *subject)
{
	static const char *const names[] = {"size_histogram", "lifetime_histogram"};
	struct err *err = NULL;

	for (int of = 0; !err && of < 2; of++) {
		struct histogram histogram;

		err = histogram_create((enum histogram_of)of, subject->recording, subject->blocks,
				       subject->bits, &histogram);
		if (err)
			break;
		json_key(json, names[of]);
		json_object(json);
		json_report_histogram(json, &histogram);
		json_end(json);
	}
	return err;
}

static struct err *answer(const struct recording *recording, struct symbolized *symbolized,
			  char *line, bool all, struct json_writer *json)
{
	cleanup(filter_match_deinit) struct filter_match match = {0};
	struct recording *filtered = NULL;
	struct filter *filter = NULL;
	struct err *err;

	err = filter_create(&filter);
	if (!err)
		err = read_filter(line, filter);
	if (!err)
		err = filter_match(filter, recording, symbolized, &match);
	if (!err)
		err = filtered_create(recording, &match, &filtered);
	if (!err) {
		struct filter_report report = {filter, match.count, match.blocks};
		struct report_subject subject = {
			.recording = filtered,
			.symbolized = symbolized,
			.filter = &report,
			.blocks = recording,
			.bits = match.words,
		};
		cleanup(json_stacks_deinit) struct json_stacks stacks = {0};

		put_blocks(json, &match);
		json_key(json, "report");
		json_stacks_init(&stacks, subject.recording, subject.symbolized, true);
		err = json_report_write(json, &stacks, &subject, METRIC_PEAK, 0);
		if (!err && all)
			err = put_breakdowns(json, &subject);
		if (!err && all)
			err = put_histograms(json, &subject);
	}
	recording_close(filtered);
	filter_destroy(filter);
	return err;
}

static struct err *answer_all(const struct recording *recording, struct symbolized *symbolized,
			      bool all)
{
	auto_free char *line = NULL;
	struct err *err = NULL;
	size_t room = 0;

	while (!err && getline(&line, &room, stdin) >= 0) {
		struct json_writer json;
		struct buf buf;
		auto_err struct err *wrong = NULL;

		buf_init(&buf);
		json_init(&json, &buf, false);
		json_object(&json);
		wrong = answer(recording, symbolized, line, all, &json);
		if (wrong)
			json_field_text(&json, "error", err_message(wrong));
		json_end(&json);
		err = buf_finish(&buf);
		if (!err)
			printf("%.*s\n", (int)buf.size, buf.data);
		buf_deinit(&buf);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct symbolized *symbolized = NULL;
	struct recording *recording = NULL;
	struct err *err;

	if (argc != 2 && !(argc == 3 && strcmp(argv[2], "--all") == 0))
		return 2;
	err = recording_open(argv[1], RECORDING_BLOCKS, NULL, NULL, &recording);
	if (!err)
		err = symbolized_create(recording, NULL, &symbolized);
	if (!err)
		err = answer_all(recording, symbolized, argc == 3);
	if (err)
		fprintf(stderr, "%s\n", err_message(err));
	symbolized_destroy(symbolized);
	recording_close(recording);
	return err != NULL;
}
