#include "report/export/pprof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sites/site_change.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/protobuf_writer.h"
#include "hosted/vec.h"
#include "report/export/pprof_tables.h"

/* The values of a sample. The first four are in the order of Go's heap profiles. */
static const struct sample_type {
	const char *name, *unit;
} sample_types[] = {
	{"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
	{"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
	{"temporary", "count"},
};

#define SAMPLE_TYPES (ARRAY_COUNT(sample_types))
#define SHOWN_FIRST  "inuse_space"

struct profile {
	const struct recording *recording;
	const struct site *sites;
	uint32_t site_count;
	struct pprof_tables *tables;
	struct buf *out;    /* the profile */
	struct buf message; /* being written */
	VEC(uint64_t) locations;
};

static void profile_deinit(struct profile *profile)
{
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
	return err ? err : buf_finish(&text);
}

/* How much of the run had passed in an earlier state of it; of another run nothing. */
static uint64_t skipped(const struct recording_facts *facts, const struct recording_facts *since)
{
	bool earlier = strcmp(facts->id, since->id) == 0 && since->duration_ns < facts->duration_ns;

	return earlier ? since->duration_ns : 0;
}

static struct err *put_head(struct profile *profile, const struct recording *since)
{
	const struct recording_facts *facts = recording_facts(profile->recording);
	uint64_t skipped_ns = since ? skipped(facts, recording_facts(since)) : 0;
	struct err *err = NULL;

	for (size_t i = 0; i < SAMPLE_TYPES && !err; i++)
		err = put_type(profile, PROFILE_SAMPLE_TYPE, sample_types[i].name,
			       sample_types[i].unit);
	if (!err)
		err = put_text(profile, PROFILE_DEFAULT_SAMPLE_TYPE, SHOWN_FIRST);
	if (!err)
		err = put_type(profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	if (!err)
		err = put_comments(profile);
	protobuf_u64(profile->out, PROFILE_PERIOD, facts->sample_mean ? facts->sample_mean : 1);
	protobuf_u64(profile->out, PROFILE_TIME_NANOS, facts->start_realtime_ns + skipped_ns);
	protobuf_u64(profile->out, PROFILE_DURATION_NANOS, facts->duration_ns - skipped_ns);
	return err;
}

/* Finds the locations of a stack, innermost first. */
static struct err *find_locations(struct profile *profile, uint32_t node)
{
	const struct stack_node *nodes = recording_stacks(profile->recording, NULL);
	bool none = node == RECORDING_NONE;

	profile->locations.count = 0;
	do {
		uint64_t location;
		struct err *err =
			none ? pprof_tables_no_stack(profile->tables, &location)
			     : pprof_tables_location(profile->tables, nodes[node].frame, &location);

		if (err)
			return err;
		if (!vec_push(&profile->locations, location))
			return err_no_memory();
		node = none ? RECORDING_NONE : nodes[node].parent;
	} while (node != RECORDING_NONE);
	return NULL;
}

static struct err *put_sample(struct profile *profile, const struct site *site)
{
	const uint64_t values[SAMPLE_TYPES] = {
		site->calls,       site->total_bytes, site->leaked_blocks, site->leaked_bytes,
		site->peak_blocks, site->peak_bytes,  site->temporary,
	};
	bool changed = false;
	struct err *err;

	for (size_t i = 0; i < SAMPLE_TYPES; i++)
		changed |= values[i] != 0;
	if (!changed)
		return NULL;
	err = find_locations(profile, site->stack);
	if (err)
		return err;
	protobuf_packed(&profile->message, SAMPLE_LOCATION_ID, profile->locations.items,
			profile->locations.count);
	protobuf_packed(&profile->message, SAMPLE_VALUE, values, SAMPLE_TYPES);
	protobuf_message(profile->out, PROFILE_SAMPLE, &profile->message);
	return NULL;
}

static struct err *put_profile(struct profile *profile, const struct recording *since)
{
	struct err *err = put_head(profile, since);

	for (uint32_t i = 0; i < profile->site_count && !err; i++)
		err = put_sample(profile, &profile->sites[i]);
	return err ? err : pprof_tables_finish(profile->tables);
}

struct err *pprof_write(struct buf *buf, const struct recording *recording,
			struct symbolized *symbolized, const struct recording *since)
{
	cleanup(compressor_destroy_at) struct compressor *compressor = NULL;
	cleanup(profile_deinit) struct profile profile = {.recording = recording};
	auto_free struct site *changes = NULL;
	struct err *err = compressor_create(COMPRESSION_GZIP, buf, &compressor);

	if (!err && since)
		err = site_change_find(recording, since, &changes);
	if (err)
		return err;
	profile.sites = recording_sites(recording, &profile.site_count);
	if (changes)
		profile.sites = changes;
	profile.out = compressor_input(compressor);
	buf_init(&profile.message);
	err = pprof_tables_create(symbolized, profile.out, &profile.tables);
	if (!err)
		err = put_profile(&profile, since);
	return err ? err : compressor_finish(compressor);
}
