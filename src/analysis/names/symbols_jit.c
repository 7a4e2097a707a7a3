#include "analysis/names/symbols_jit.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/*
 * A program that writes the file when it exits does so after the recording's last event: at most so
 * much later.
 */
#define EXIT_NS INT64_C(2000000000)
/* How far the recording's clock and that of files may drift apart: one part in 1000. */
#define DRIFT   1000

void symbols_jit_deinit(struct symbols_jit *jit)
{
	vec_deinit(&jit->places);
	arena_deinit(&jit->arena);
}

static int compare_places(const void *a, const void *b)
{
	const struct perf_map_place *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Collects the addresses in no module, each once. */
static struct err *collect_addresses(struct symbols_jit *jit, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_frame *frames = recording_frames(recording, &count);
	struct perf_map_place *places;
	size_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct perf_map_place place = {.address = frames[i].pc - 1};

		if (frames[i].module != RECORDING_NONE || frames[i].pc <= TRACE_PC_LAST_SPECIAL)
			continue;
		if (!vec_push(&jit->places, place))
			return err_no_memory();
	}
	if (!jit->places.count)
		return NULL;
	places = jit->places.items;
	qsort(places, jit->places.count, sizeof(*places), compare_places);
	for (size_t i = 0; i < jit->places.count; i++) {
		if (!kept || places[kept - 1].address != places[i].address)
			places[kept++] = places[i];
	}
	jit->places.count = kept;
	return NULL;
}

static bool is_from_here(const struct recording_facts *facts)
{
	struct utsname name;

	return !facts->host[0] || (!uname(&name) && !strcmp(name.nodename, facts->host));
}

/*
 * When the file must have been written. Images that a process executes one after the other share a
 * pid, and so a file: only one written in the recording's time belongs to it. If the end of the
 * program is not known, only its beginning is checked.
 */
static struct perf_map_time time_of(const struct recording_facts *facts)
{
	struct perf_map_time time = {
		// Who is attached to has compiled before.
		.from_ns = facts->attached ? 0 : (int64_t)facts->start_realtime_ns,
		.until_ns = INT64_MAX,
		.user = facts->owner,
	};

	if (facts->ended) {
		time.until_ns = (int64_t)(facts->start_realtime_ns + facts->duration_ns +
					  facts->duration_ns / DRIFT);
		if (facts->end_reason != TRACE_END_EXEC)
			time.until_ns += EXIT_NS;
	}
	return time;
}

struct err *symbols_jit_init(struct symbols_jit *jit, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);
	struct perf_map_time time = time_of(facts);
	char path[64];
	struct err *err = collect_addresses(jit, recording);

	if (err || !jit->places.count || !is_from_here(facts))
		return err;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", facts->pid);
	return perf_map_name(path, &time, &jit->arena, jit->places.items, jit->places.count);
}

const struct perf_map_place *symbols_jit_find(const struct symbols_jit *jit, uint64_t address)
{
	const struct perf_map_place key = {.address = address};
	const struct perf_map_place *place =
		jit->places.count ? bsearch(&key, jit->places.items, jit->places.count, sizeof(key),
					    compare_places)
				  : NULL;

	return place && place->name ? place : NULL;
}
