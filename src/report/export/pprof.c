#include "report/export/pprof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sites/metric.h"
#include "analysis/sites/site_change.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/protobuf_writer.h"
#include "hosted/vec.h"
#include "report/export/pprof_tables.h"
#include "report/export/stack_sums.h"
#include "report/views/site_order.h"

/* The values of a sample. The first four are in the order of Go's heap profiles. */
static const struct sample_type {
	const char *name, *unit;
} sample_types[] = {
	{"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
	{"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
	{"temporary", "count"},
};

/* What a sample is called that stands for many stacks. */
#define OTHERS "(others)"
#define ENDED  "(ended processes)"

#define SAMPLE_TYPES (ARRAY_COUNT(sample_types))
#define GO_TYPES     4
#define SHOWN_FIRST  "inuse_space" /* METRIC_LEAKED */

struct profile {
	const struct recording *recording;
	const struct pprof_options *options;
	const struct site *sites;
	uint32_t site_count;
	size_t types; /* how many values a sample has */
	bool *folded; /* of each site: it is in the sample of others; NULL: none is */
	uint32_t others;
	struct pprof_tables *tables;
	struct buf *out;    /* the profile */
	struct buf message; /* being written */
	VEC(uint64_t) locations;
};

static void profile_deinit(struct profile *profile)
{
	free(profile->folded);
	pprof_tables_destroy(profile->tables);
	buf_deinit(&profile->message);
	vec_deinit(&profile->locations);
}

static struct err *put_type(struct profile *profile, enum pprof_profile_field field,
			    const char *name, const char *unit)
{
	uint64_t name_number, unit_number;
	struct err *err = pprof_tables_string(profile->tables, name, &name_number);

	if (!err)
		err = pprof_tables_string(profile->tables, unit, &unit_number);
	if (err)
		return err;
	protobuf_u64(&profile->message, VALUE_TYPE_TYPE, name_number);
	protobuf_u64(&profile->message, VALUE_TYPE_UNIT, unit_number);
	protobuf_message(profile->out, field, &profile->message);
	return NULL;
}

static struct err *put_text(struct profile *profile, enum pprof_profile_field field,
			    const char *text)
{
	uint64_t number;
	struct err *err = pprof_tables_string(profile->tables, text, &number);

	if (err)
		return err;
	if (field == PROFILE_COMMENT) // a list
		protobuf_packed(profile->out, field, &number, 1);
	else
		protobuf_u64(profile->out, field, number);
	return NULL;
}

/* Says what is not told apart. */
static void put_folded(struct buf *text, const struct profile *profile)
{
	buf_printf(text,
		   "%" PRIu32 " stacks with least in use are one sample, " OTHERS
		   " (--samples %" PRIu64 ")",
		   profile->others, profile->options->samples);
}

/* Writes the comments, which `pprof -comments` shows. */
static struct err *put_comments(struct profile *profile)
{
	const struct recording_facts *facts = recording_facts(profile->recording);
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err = put_text(profile, PROFILE_COMMENT, "mallow " MALLOW_VERSION);

	for (size_t i = 0; facts->arguments && facts->arguments[i]; i++)
		buf_printf(&text, "%s%s", i ? " " : "", facts->arguments[i]);
	if (!err && text.size)
		err = put_text(profile, PROFILE_COMMENT, buf_string(&text));
	if (!err && facts->filtered)
		err = put_text(profile, PROFILE_COMMENT, "only allocations that a filter matches");
	text.size = 0;
	buf_printf(&text, "sums are estimates: a sample of one in %" PRIu64 " bytes",
		   facts->sample_mean);
	if (!err && facts->sample_mean)
		err = put_text(profile, PROFILE_COMMENT, buf_string(&text));
	text.size = 0;
	put_folded(&text, profile);
	if (!err && profile->others)
		err = put_text(profile, PROFILE_COMMENT, buf_string(&text));
	return err ? err : buf_finish(&text);
}

/* How long it took from an earlier state of the run to this one; 0: it is no earlier state. */
static uint64_t duration_since(const struct recording_facts *facts, const struct recording *since)
{
	const struct recording_facts *then = since ? recording_facts(since) : NULL;
	bool earlier =
		then && strcmp(facts->id, then->id) == 0 && then->duration_ns < facts->duration_ns;

	return earlier ? facts->duration_ns - then->duration_ns : 0;
}

static struct err *put_head(struct profile *profile)
{
	const struct recording_facts *facts = recording_facts(profile->recording);
	uint64_t duration = profile->options->sites
				    ? profile->options->duration_ns
				    : duration_since(facts, profile->options->since);
	struct err *err = NULL;

	for (size_t i = 0; i < profile->types && !err; i++)
		err = put_type(profile, PROFILE_SAMPLE_TYPE, sample_types[i].name,
			       sample_types[i].unit);
	if (!err)
		err = put_text(profile, PROFILE_DEFAULT_SAMPLE_TYPE, SHOWN_FIRST);
	if (!err)
		err = put_type(profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	if (!err)
		err = put_comments(profile);
	protobuf_u64(profile->out, PROFILE_PERIOD, facts->sample_mean ? facts->sample_mean : 1);
	protobuf_u64(profile->out, PROFILE_TIME_NANOS,
		     facts->start_realtime_ns + facts->duration_ns - duration);
	protobuf_u64(profile->out, PROFILE_DURATION_NANOS, duration);
	return err;
}

/* Finds the locations of a stack, innermost first. word: the name of what has no frames. */
static struct err *find_locations(struct profile *profile, uint32_t node, const char *word)
{
	const struct stack_node *nodes = recording_stacks(profile->recording, NULL);
	bool none = node == RECORDING_NONE;

	profile->locations.count = 0;
	do {
		uint64_t location;
		struct err *err =
			none ? pprof_tables_word(profile->tables, word, &location)
			     : pprof_tables_location(profile->tables, nodes[node].frame, &location);

		if (err)
			return err;
		if (!vec_push(&profile->locations, location))
			return err_no_memory();
		node = none ? RECORDING_NONE : nodes[node].parent;
	} while (node != RECORDING_NONE);
	return NULL;
}

/* Whether a site has a sample: any of its sums, or their changes, is not 0. */
static bool has_sample(const struct site *site)
{
	return site->calls || site->total_bytes || site->leaked_blocks || site->leaked_bytes ||
	       site->peak_blocks || site->peak_bytes || site->temporary;
}

static struct err *put_sample(struct profile *profile, const struct site *site, const char *word)
{
	const uint64_t values[SAMPLE_TYPES] = {
		site->calls,       site->total_bytes, site->leaked_blocks, site->leaked_bytes,
		site->peak_blocks, site->peak_bytes,  site->temporary,
	};
	struct err *err = find_locations(profile, site->stack, word);

	if (err)
		return err;
	protobuf_packed(&profile->message, SAMPLE_LOCATION_ID, profile->locations.items,
			profile->locations.count);
	protobuf_packed(&profile->message, SAMPLE_VALUE, values, profile->types);
	protobuf_message(profile->out, PROFILE_SAMPLE, &profile->message);
	return NULL;
}

/* How far a sum, or its change, is from 0. */
static uint64_t size_of(uint64_t sum)
{
	return sum >> 63 ? -sum : sum;
}

/* Chooses the sites that are folded: those with least of what is shown first. */
static struct err *fold(struct profile *profile)
{
	auto_free struct site *sizes = NULL;
	auto_free uint32_t *order = NULL;
	uint32_t count = 0, kept = 0;

	for (uint32_t i = 0; i < profile->site_count; i++)
		count += has_sample(&profile->sites[i]);
	if (count <= profile->options->samples)
		return NULL;
	sizes = calloc(profile->site_count, sizeof(*sizes));
	profile->folded = calloc(profile->site_count, sizeof(*profile->folded));
	if (!sizes || !profile->folded)
		return err_no_memory();
	for (uint32_t i = 0; i < profile->site_count; i++) {
		sizes[i].leaked_bytes = size_of(profile->sites[i].leaked_bytes);
		sizes[i].total_bytes = size_of(profile->sites[i].total_bytes);
	}

	struct err *err = site_order_create(sizes, profile->site_count, METRIC_LEAKED,
					    SITE_ORDER_ALL, &order, &count);

	for (uint32_t i = 0; !err && i < count; i++) {
		if (!has_sample(&profile->sites[order[i]]))
			continue;
		// The sample of others is one of the samples.
		profile->folded[order[i]] = ++kept >= profile->options->samples;
		profile->others += profile->folded[order[i]];
	}
	return err;
}

static struct err *put_profile(struct profile *profile)
{
	struct site others = {.stack = RECORDING_NONE};
	struct err *err = put_head(profile);

	for (uint32_t i = 0; i < profile->site_count && !err; i++) {
		if (profile->folded && profile->folded[i])
			metric_add_site(&others, &profile->sites[i]);
		else if (has_sample(&profile->sites[i]))
			err = put_sample(profile, &profile->sites[i], STACK_SUMS_NO_STACK);
	}
	if (!err && profile->options->ended && has_sample(profile->options->ended))
		err = put_sample(profile, profile->options->ended, ENDED);
	if (!err && has_sample(&others))
		err = put_sample(profile, &others, OTHERS);
	if (!err && profile->others && profile->options->note)
		put_folded(profile->options->note, profile);
	return err ? err : pprof_tables_finish(profile->tables);
}

struct err *pprof_write(struct buf *buf, const struct recording *recording,
			struct symbolized *symbolized, const struct pprof_options *options)
{
	cleanup(compressor_destroy_at) struct compressor *compressor = NULL;
	cleanup(profile_deinit) struct profile profile = {.recording = recording,
							  .options = options};
	auto_free struct site *changes = NULL;
	struct err *err = compressor_create(options->plain ? COMPRESSION_NONE : COMPRESSION_GZIP,
					    buf, &compressor);

	if (!err && options->since)
		err = site_change_find(recording, options->since, &changes);
	if (err)
		return err;
	profile.sites = recording_sites(recording, &profile.site_count);
	if (changes)
		profile.sites = changes;
	if (options->sites)
		profile.sites = options->sites;
	// A live table does not know what was live at the peak, and what was freed at once.
	profile.types = recording_facts(recording)->live ? GO_TYPES : SAMPLE_TYPES;
	profile.out = compressor_input(compressor);
	buf_init(&profile.message);
	err = pprof_tables_create(symbolized, profile.out, &profile.tables);
	if (!err)
		err = fold(&profile);
	if (!err)
		err = put_profile(&profile);
	return err ? err : compressor_finish(compressor);
}
