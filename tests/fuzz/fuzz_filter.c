/*
 * libFuzzer target: lines NAME=VALUE as the conditions of a filter. What is accepted is matched
 * against a recording, and what matches is added up.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/sample_recordings.h"
#include "analysis/filter/filtered.h"
#include "analysis/recording_memory.h"

#define SAMPLE 1 /* "operations" */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same for all inputs: kept. */
static struct recording *recording;
static struct symbolized *symbolized;

static void open_sample(void)
{
	struct trace_writer writer;

	sample_recordings[SAMPLE].write(&writer);
	if (recording_open_memory("x", writer.data, writer.size, RECORDING_BLOCKS, &recording) ||
	    symbolized_create(recording, NULL, &symbolized))
		abort();
	trace_writer_deinit(&writer);
}

static void set_line(struct filter *filter, char *line)
{
	char *value = strchr(line, '=');

	if (value) {
		*value++ = '\0';
		err_destroy(filter_set(filter, line, value));
	}
}

static void match(const struct filter *filter)
{
	struct recording *filtered = NULL;
	struct filter_match matched;
	struct err *err = filter_match(filter, recording, symbolized, &matched);

	if (err) {
		err_destroy(err);
		return;
	}
	if (filtered_create(recording, &matched, &filtered) || matched.count > matched.blocks ||
	    recording_summary(filtered)->calls != matched.count)
		abort();
	recording_close(filtered);
	filter_match_deinit(&matched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct filter *filter = NULL;
	char *text = malloc(size + 1), *rest = NULL;

	if (!recording)
		open_sample();
	if (!text || filter_create(&filter))
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		set_line(filter, line);
	match(filter);
	filter_destroy(filter);
	free(text);
	return 0;
}
