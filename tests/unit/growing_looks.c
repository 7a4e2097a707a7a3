/*
 * Looks at a recording while it is written: growing_looks RECORDING MILLISECONDS sums|blocks, with
 * pauses of so many milliseconds between looks. After the look that finds it is no longer written,
 * one more, with exact times, is compared with the recording read as a whole. Then it writes a line
 * of JSON:
 *
 *     {"looks": 100, "went_on": 100, "events": 1000000, "looks_cpu_s": 1.0, "whole_cpu_s": 1.0,
 *      "difference": null}
 *
 * went_on: after so many of the looks the next one could cost only what is new. events: what the
 * last look found. *_cpu_s: processor time of all looks together, and of reading the file once, as
 * a whole. difference: what first differs, as text. For tests/e2e/tool/test_growing_looks.py and
 * bench/growing.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/growing/growing.h"
#include "analysis/load/load.h"
#include "hosted/cleanup.h"
#include "recordings_compare.h"

CLEANUP_DEFINE(struct growing *, growing_close);

struct looks {
	const char *path;
	unsigned int needs;
	long pause_ms;
	unsigned int count, went_on;
	uint64_t events;
	double cpu_s, whole_cpu_s;
	const char *difference;
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pause_for(long milliseconds)
{
	const struct timespec time = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = milliseconds % 1000 * 1000000,
	};

	nanosleep(&time, NULL);
}

/* *writing: whether more may come. */
static struct err *look(struct looks *looks, struct growing *growing, bool *writing)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	double begun = cpu_seconds();
	struct err *err = growing_look(growing, &recording);

	if (err)
		return err;
	looks->cpu_s += cpu_seconds() - begun;
	looks->count++;
	looks->went_on += growing_goes_on(growing);
	looks->events = recording_facts(recording)->events;
	*writing = recording_facts(recording)->writing;
	return NULL;
}

static struct err *compare(struct looks *looks, struct growing *growing)
{
	cleanup(recording_close_at) struct recording *last = NULL, *whole = NULL;
	double begun;
	struct err *err;

	load_look_tolerance_ns = 0;
	err = growing_look(growing, &last);
	begun = cpu_seconds();
	if (!err)
		err = recording_open(looks->path, looks->needs, NULL, NULL, &whole);
	looks->whole_cpu_s = cpu_seconds() - begun;
	if (!err)
		looks->difference = recordings_compare(last, whole);
	return err;
}

static struct err *follow(struct looks *looks)
{
	cleanup(growing_close_at) struct growing *growing = NULL;
	struct err *err = growing_open(looks->path, looks->needs, &growing);
	bool writing = true;

	while (!err && writing) {
		err = look(looks, growing, &writing);
		if (!err && writing)
			pause_for(looks->pause_ms);
	}
	return err ? err : compare(looks, growing);
}

static void print(const struct looks *looks)
{
	const char *quote = looks->difference ? "\"" : "";

	printf("{\"looks\": %u, \"went_on\": %u, \"events\": %llu, \"looks_cpu_s\": %.6f, "
	       "\"whole_cpu_s\": %.6f, \"difference\": %s%s%s}\n",
	       looks->count, looks->went_on, (unsigned long long)looks->events, looks->cpu_s,
	       looks->whole_cpu_s, quote, looks->difference ? looks->difference : "null", quote);
}

int main(int argc, char **argv)
{
	struct looks looks = {0};
	struct err *err;

	if (argc != 4)
		return 2;
	looks.path = argv[1];
	looks.pause_ms = atol(argv[2]);
	looks.needs = strcmp(argv[3], "blocks") == 0 ? RECORDING_BLOCKS : RECORDING_SUMS;
	err = follow(&looks);
	if (!err)
		print(&looks);
	else
		fprintf(stderr, "%s\n", err_message(err));
	return err != NULL;
}
