#include "report/json/info_json.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/hex.h"
#include "report/json/json_report.h"
#include "report/views/core_view.h"
#include "report/words/machine_name.h"
#include "report/words/unseen.h"

struct loss_name {
	const char *name;
};

static const struct loss_name losses[TRACE_LOSS_COUNTERS] = {
#define LOSS(number, NAME, name_, loses_events, text) [number] = {name_},
#include "trace/losses.def"
#undef LOSS
};

static const char *const allocators[] = {
	[TRACE_ALLOCATOR_UNKNOWN] = "unknown",
	[TRACE_ALLOCATOR_GLIBC] = "glibc",
	[TRACE_ALLOCATOR_MUSL] = "musl",
	[TRACE_ALLOCATOR_OTHER] = "other",
};

static const char *const ends[] = {
	[TRACE_END_UNKNOWN] = "unknown",   [TRACE_END_EXIT] = "exit",
	[TRACE_END_FAST_EXIT] = "_exit",   [TRACE_END_EXEC] = "exec",
	[TRACE_END_STOPPED] = "stopped",   [TRACE_END_NEXT] = "next_start",
	[TRACE_END_DETACHED] = "detached", [TRACE_END_SIGNAL] = "signal",
	[TRACE_END_CUT] = "cut",
};

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static void put_list(struct json_writer *json, const char *key, const char *const *list)
{
	json_field_array(json, key);
	for (; list && *list; list++)
		json_text(json, *list);
	json_end(json);
}

static void put_process(struct json_writer *json, const struct recording_facts *facts)
{
	json_field_text(json, "program", text_or_null(facts->program));
	put_list(json, "arguments", facts->arguments);
	if (facts->environment) {
		put_list(json, "environment", facts->environment);
	} else {
		json_key(json, "environment");
		json_null(json);
	}
	json_field_text(json, "directory", text_or_null(facts->directory));
	json_field_text(json, "host", text_or_null(facts->host));
	json_field_text(json, "architecture", machine_name(facts));
	json_field_text(json, "kernel", text_or_null(facts->kernel));
	json_field_text(json, "agent_version", text_or_null(facts->agent_version));
	json_field_bool(json, "imported", facts->imported);
	json_report_known(json, facts);
	json_field_u64(json, "pid", facts->pid);
	json_field_u64(json, "parent_pid", facts->parent_pid);
	json_field_bool(json, "begun_by_fork", facts->begun_by_fork);
	json_field_bool(json, "begun_by_start", facts->begun_by_start);
	json_field_bool(json, "attached", facts->attached);
	json_field_u64(json, "sample_bytes", facts->sample_mean);
	json_field_bool(json, "stripped", facts->stripped);
	if (facts->cull_ns == TRACE_CULL_ALL) {
		json_key(json, "cull_s");
		json_null(json);
	} else {
		json_field_double(json, "cull_s", (double)facts->cull_ns / 1e9);
	}
	json_field_text(json, "allocator",
			facts->allocator < ARRAY_COUNT(allocators) ? allocators[facts->allocator]
								   : "unknown");
}

/* peak_resident: bytes, as far as is known; from samples: the process may have had more. */
static void put_watch(struct json_writer *json, const struct recording_facts *facts)
{
	json_field_bool(json, "watched", facts->watched);
	json_key(json, "peak_resident");
	if (facts->peak_resident)
		json_u64(json, facts->peak_resident);
	else
		json_null(json);
	json_field_text(json, "peak_resident_from",
			!facts->peak_resident                              ? NULL
			: facts->peak_resident_source == TRACE_PEAK_WAITED ? "wait"
									   : "samples");
}

static void put_end(struct json_writer *json, const struct recording_facts *facts)
{
	json_field_bool(json, "complete", facts->complete);
	json_field_bool(json, "ended", facts->ended);
	json_field_bool(json, "writing", facts->writing);
	json_field_text(json, "end_reason",
			facts->end_reason < ARRAY_COUNT(ends) ? ends[facts->end_reason]
							      : "unknown");
	json_key(json, "end_status");
	if (facts->end_status == TRACE_STATUS_UNKNOWN)
		json_null(json);
	else
		json_u64(json, facts->end_status);
	json_field_double(json, "started_at", (double)facts->start_realtime_ns / 1e9);
	json_field_double(json, "duration_s", (double)facts->duration_ns / 1e9);
	json_field_u64(json, "off_periods", facts->off_periods);
	json_field_double(json, "off_s", (double)facts->off_ns / 1e9);
}

static void put_gaps(struct json_writer *json, const struct recording_facts *facts)
{
	json_field_u64(json, "lost", facts->lost);
	json_field_object(json, "losses");
	for (int i = 0; i < TRACE_LOSS_COUNTERS; i++) {
		char unknown[24];

		snprintf(unknown, sizeof(unknown), "reason_%d", i);
		if (losses[i].name)
			json_field_u64(json, losses[i].name, facts->losses[i]);
		else if (facts->losses[i])
			json_field_u64(json, unknown, facts->losses[i]);
	}
	json_end(json);
	json_field_u64(json, "guessed_frames", facts->guesses);
	json_field_bool(json, "private_slots", facts->private_slots);
	json_field_bool(json, "free_stacks", facts->free_stacks);
	json_field_bool(json, "foreign", facts->foreign);
	json_field_u64(json, "missing_chunks", facts->missing_chunks);
	json_field_u64(json, "damaged_chunks", facts->damaged_chunks);
	json_key(json, "core");
	core_facts_json(json, facts);
	json_key(json, "first_damage");
	if (facts->damaged_chunks) {
		json_object(json);
		json_field_u64(json, "offset", facts->first_damage);
		json_field_text(json, "expected", facts->first_damage_text);
		json_end(json);
	} else {
		json_null(json);
	}
}

static void put_pools(struct json_writer *json, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);
	uint64_t frees = 0, resets = 0;

	for (uint32_t i = 0; i < count; i++) {
		frees += pools[i].frees;
		resets += pools[i].resets;
	}
	json_field_u64(json, "pools", count);
	json_field_u64(json, "pool_allocations", recording_pool_sum(recording)->calls);
	json_field_u64(json, "pool_frees", frees);
	json_field_u64(json, "pool_resets", resets);
}

void info_json_modules(struct json_writer *json, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	json_field_array(json, "modules");
	for (uint32_t i = 0; i < count; i++) {
		char build_id[HEX_ROOM(64)];

		hex_put(build_id, modules[i].build_id,
			modules[i].build_id_size < 64 ? modules[i].build_id_size : 64);
		json_object(json);
		json_field_text(json, "path", modules[i].path);
		json_field_text(json, "build_id", text_or_null(build_id));
		json_field_u64(json, "generation", modules[i].generation);
		json_field_hex(json, "start", modules[i].start);
		json_field_hex(json, "end", modules[i].end);
		json_field_hex(json, "bias", modules[i].bias);
		json_field_double(json, "loaded_s", (double)modules[i].loaded_ns / 1e9);
		json_key(json, "gone_s");
		if (modules[i].gone_ns == TIME_NEVER)
			json_null(json);
		else
			json_double(json, (double)modules[i].gone_ns / 1e9);
		json_end(json);
	}
	json_end(json);
}

void info_json_write(struct json_writer *json, const struct recording *recording, bool modules)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint32_t threads;

	recording_threads(recording, &threads);
	json_object(json);
	json_field_text(json, "path", facts->path);
	json_field_text(json, "id", facts->id);
	json_field_text(json, "parent_id", text_or_null(facts->parent_id));
	json_field_u64(json, "format_version", facts->version_major);
	json_field_u64(json, "format_minor", facts->version_minor);
	put_process(json, facts);
	put_end(json, facts);
	put_watch(json, facts);
	json_field_u64(json, "events", facts->events);
	json_field_u64(json, "allocations", facts->allocations);
	json_field_u64(json, "frees", facts->frees);
	json_field_u64(json, "reallocs", facts->reallocs);
	json_field_u64(json, "culled_allocations", facts->culled_allocations);
	json_field_u64(json, "culled_bytes", facts->culled_bytes);
	json_field_u64(json, "failed_allocations", facts->failed_allocations);
	json_field_u64(json, "unknown_frees", facts->unknown_frees);
	json_field_u64(json, "implicit_frees", facts->implicit_frees);
	put_pools(json, recording);
	json_field_u64(json, "threads", threads);
	json_field_u64(json, "file_size", facts->file_size);
	json_field_u64(json, "chunks", facts->chunks);
	json_field_bool(json, "finished", facts->finished);
	json_field_bool(json, "compressed", facts->compressed);
	json_key(json, "bytes_per_event");
	if (facts->events)
		json_double(json, (double)facts->file_size / (double)facts->events);
	else
		json_null(json);
	put_gaps(json, facts);
	json_field_array(json, "unseen");
	unseen_json(json, facts);
	json_end(json);
	json_field_array(json, "patched");
	patched_json(json, facts);
	json_end(json);
	if (modules)
		info_json_modules(json, recording);
	json_end(json);
}
