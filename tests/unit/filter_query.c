/*
 * Many filters on one recording: filter_query RECORDING, a filter a line on standard input, its
 * conditions name=value by tabs. Writes a line of JSON for each: {"blocks": the rows that match,
 * "report": as of `mallow report --json`}, or {"error": …}. tests/e2e/test_filter.py compares.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/filter/filtered.h"
#include "hosted/cleanup.h"
#include "report/json_report.h"

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

static struct err *answer(const struct recording *recording, struct symbolized *symbolized,
			  char *line, struct json_writer *json)
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

		put_blocks(json, &match);
		json_key(json, "report");
		err = json_report_write(json, filtered, symbolized, NULL, &report, METRIC_PEAK, 0);
	}
	recording_close(filtered);
	filter_destroy(filter);
	return err;
}

static struct err *answer_all(const struct recording *recording, struct symbolized *symbolized)
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
		wrong = answer(recording, symbolized, line, &json);
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

	if (argc != 2)
		return 2;
	err = recording_open(argv[1], RECORDING_BLOCKS, NULL, NULL, &recording);
	if (!err)
		err = symbolized_create(recording, NULL, &symbolized);
	if (!err)
		err = answer_all(recording, symbolized);
	if (err)
		fprintf(stderr, "%s\n", err_message(err));
	symbolized_destroy(symbolized);
	recording_close(recording);
	return err != NULL;
}
