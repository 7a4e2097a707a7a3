#include "report/json/live_json.h"

#include "hosted/cleanup.h"
#include "report/json/json_stacks.h"
#include "report/words/unseen.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void put_interval(struct json_writer *json, const struct live_interval *interval)
{
	json_field_u64(json, "live_bytes_low", interval->bytes.low);
	json_field_u64(json, "live_bytes_high", interval->bytes.high);
	json_field_u64(json, "live_blocks_low", interval->blocks.low);
	json_field_u64(json, "live_blocks_high", interval->blocks.high);
}

static struct err *put_site(struct json_writer *json, struct json_stacks *stacks,
			    const struct live_view *view, uint32_t index)
{
	const struct live_facts *live = recording_live(view->recording);
	const struct site_life *times = &live->sites[index];
	uint32_t count;
	const struct site *site = &recording_sites(view->recording, &count)[index];
	uint64_t age = live->now_ns > times->since_ns ? live->now_ns - times->since_ns : 0;
	struct err *err;

	json_object(json);
	json_field_u64(json, "live_bytes", site->leaked_bytes);
	json_field_u64(json, "live_blocks", site->leaked_blocks);
	if (live->intervals)
		put_interval(json, &live->intervals[index]);
	json_field_u64(json, "own_peak_bytes", site->own_peak_bytes);
	json_field_u64(json, "own_peak_blocks", times->own_peak_blocks);
	json_field_u64(json, "total_bytes", site->total_bytes);
	json_field_u64(json, "calls", site->calls);
	json_field_double(json, "age_s", seconds(age));
	json_field_double(json, "first_s", seconds(times->first_ns));
	json_field_double(json, "last_s", seconds(times->last_ns));
	err = json_stacks_field_site(stacks, json, site->stack);
	if (!err)
		json_end(json);
	return err;
}

static void put_thread(struct json_writer *json, const struct live_facts *live,
		       const struct thread_sums *thread)
{
	json_object(json);
	json_field_text(json, "name", thread->name);
	json_field_u64(json, "threads", thread->threads);
	json_field_u64(json, "allocated_bytes", thread->allocated_bytes);
	json_field_u64(json, "allocated_blocks", thread->allocated_blocks);
	json_field_u64(json, "freed_bytes", thread->freed_bytes);
	json_field_u64(json, "freed_blocks", thread->freed_blocks);
	json_field_u64(json, "allocated_freed_bytes", thread->allocated_freed_bytes);
	json_field_u64(json, "allocated_freed_blocks", thread->allocated_freed_blocks);
	json_field_u64(json, "in_use_bytes", thread->in_use_bytes);
	json_field_u64(json, "in_use_blocks", thread->in_use_blocks);
	json_field_array(json, "freed_by_others");
	for (uint32_t i = 0; i < thread->freed_by_others_count; i++) {
		json_object(json);
		json_field_text(json, "name",
				live->threads[thread->freed_by_others[i].thread].name);
		json_field_u64(json, "bytes", thread->freed_by_others[i].bytes);
		json_field_u64(json, "blocks", thread->freed_by_others[i].blocks);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void put_memory(struct json_writer *json, const struct process_memory *memory)
{
	json_key(json, "memory");
	if (!memory) {
		json_null(json);
		return;
	}
	json_object(json);
	json_field_u64(json, "virtual_bytes", memory->virtual_size);
	json_field_u64(json, "resident_bytes", memory->resident);
	json_field_u64(json, "shared_bytes", memory->shared);
	if (memory->heap_known) {
		json_field_u64(json, "heap_virtual_bytes", memory->heap_size);
		json_field_u64(json, "heap_resident_bytes", memory->heap_resident);
	}
	json_end(json);
}

struct err *live_json_write(struct json_writer *json, const struct live_view *view)
{
	const struct recording_facts *facts = recording_facts(view->recording);
	const struct recording_summary *sum = recording_summary(view->recording);
	const struct live_facts *live = recording_live(view->recording);
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err = NULL;

	// In place: scripts take single sites out of the report, which is one line.
	json_stacks_init(&stacks, view->recording, view->symbolized, true);
	json_object(json);
	json_field_text(json, "program", *facts->program ? facts->program : NULL);
	json_field_text(json, "name", view->options.name);
	json_field_u64(json, "pid", facts->pid);
	json_field_text(json, "id", facts->id);
	json_field_text(json, "sorted_by", live_key_name(view->options.key));
	json_field_u64(json, "sample_mean", facts->sample_mean);
	json_field_double(json, "time_s", seconds(live->now_ns));
	json_field_u64(json, "live_bytes", sum->live_bytes);
	json_field_u64(json, "live_blocks", sum->leaked_blocks);
	if (live->intervals)
		put_interval(json, &live->all);
	json_field_u64(json, "total_bytes", sum->total_bytes);
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "not_counted", live->not_counted);
	json_field_u64(json, "table_bytes", live->table_bytes);
	json_field_u64(json, "table_site_bytes", live->table_sites);
	json_field_u64(json, "table_stack_bytes", live->table_stacks);
	put_memory(json, view->options.memory);
	json_field_array(json, "unseen");
	unseen_json(json, facts);
	json_end(json);
	json_field_array(json, "patched");
	patched_json(json, facts);
	json_end(json);
	json_field_u64(json, "site_count", view->live + view->ignored_sites);
	json_field_u64(json, "ignored_sites", view->ignored_sites);
	json_field_u64(json, "ignored_bytes", view->ignored_bytes);
	json_field_array(json, "sites");
	for (uint32_t i = 0; i < view->shown && !err; i++)
		err = put_site(json, &stacks, view, view->order[i]);
	if (err)
		return err;
	json_end(json);
	json_field_array(json, "threads");
	for (uint32_t i = 0; i < live->thread_count; i++)
		put_thread(json, live, &live->threads[i]);
	json_end(json);
	json_end(json);
	return NULL;
}
