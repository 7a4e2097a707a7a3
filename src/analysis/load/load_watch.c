#include "analysis/load/load.h"

struct err *load_watch_operation(struct load *load)
{
	struct recording *recording = load->recording;
	struct live_line *line = &recording->blocks->live_line;

	if (++line->operations == line->moment)
		site_table_hold_peak(&recording->sites);
	if (!line->wanted)
		return NULL;
	return live_line_note(line, load->now, recording->sites.summary.live_bytes);
}

struct err *load_watch_suspect(struct load *load, uint32_t index, uint32_t thread,
			       struct load_event *event, uint64_t address,
			       const struct live_block *block)
{
	struct heap_errors *errors = &load->recording->blocks->heap_errors;
	const struct block_store *store = &load->recording->blocks->store;
	struct err *err = load_event_stack(load, index, event);
	struct heap_suspect suspect = {
		.address = address,
		.ticks = load->now,
		.block = block ? block->number - 1 : BLOCK_NONE,
		.rows = store->count,
		.stack = event->node,
		.thread = thread,
		.release = event->event.kind,
		.turn = errors->turns.items[thread],
	};

	if (err)
		return err;
	suspect.inside = !block && errors->suspects.count < HEAP_SUSPECTS_LOOKED_FOR &&
			 address_table_may_cover(&store->live, address, store->largest);
	return vec_push(&errors->suspects, suspect) ? NULL : err_no_memory();
}
