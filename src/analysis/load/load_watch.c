#include "analysis/load/load.h"

static struct err *note_operation(struct load *load)
{
	struct recording *recording = load->recording;
	struct live_line *line = &recording->blocks->live_line;

	if (++line->operations == line->moment)
		site_table_hold_peak(&recording->sites);
	if (!line->wanted)
		return NULL;
	return live_line_note(line, load->now, recording->sites.summary.live_bytes);
}

static struct err *suspect(struct load *load, uint32_t thread, const struct load_event *event,
			   uint64_t address, uint64_t block, uint64_t turn)
{
	struct heap_suspect suspect = {
		.address = address,
		.ticks = load->now,
		.block = block,
		.rows = load->recording->blocks->store.count,
		.stack = event->node,
		.thread = thread,
		.release = event->event.kind,
		.turn = turn,
	};

	return vec_push(&load->recording->blocks->heap_errors.suspects, suspect) ? NULL
										 : err_no_memory();
}

struct err *load_watch_free(struct load *load, uint32_t index, uint32_t thread,
			    struct load_event *event, uint64_t address, uint64_t block)
{
	struct recording *recording = load->recording;
	struct err *err = NULL;
	uint64_t turn = 0;

	if (recording->blocks->heap_errors.wanted) {
		err = heap_errors_turn(&recording->blocks->heap_errors, thread, &turn);
		if (!err && (block == BLOCK_NONE ||
			     !heap_errors_match(recording->blocks->store.rows.entry[block],
						event->event.kind))) {
			err = load_event_stack(load, index, event);
			if (!err)
				err = suspect(load, thread, event, address, block, turn);
		}
	}
	return err ? err : note_operation(load);
}

struct err *load_watch_allocation(struct load *load, uint32_t thread)
{
	struct heap_errors *errors = &load->recording->blocks->heap_errors;
	struct err *err = NULL;
	uint64_t turn;

	if (errors->wanted)
		err = heap_errors_turn(errors, thread, &turn);
	return err ? err : note_operation(load);
}
