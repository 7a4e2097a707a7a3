/*
 * The frames of a recording. While loading, stacks name them by *reference*: one for each frame
 * id, whose definition may come later (in another stream), and one for each bare pc in a module.
 * When all is read, references become frames that are unique by (pc, module).
 *
 * As a rule these are the same numbers. Where they are not, two stacks that seemed different are
 * one, so the recording is read once more, with the frames that are known by then.
 */
#ifndef MALLOW_ANALYSIS_TABLES_FRAME_TABLE_H
#define MALLOW_ANALYSIS_TABLES_FRAME_TABLE_H

#include "analysis/tables/module_table.h"
#include "base/compiler.h"

struct frame_reference {
	uint64_t pc;
	uint64_t ticks;  /* of a bare pc: when it was first met */
	uint64_t module; /* id of a defined frame's, index of a bare pc's */
	uint32_t next;   /* another reference of the same pc, see by_pc */
	bool defined;
	bool bare;
};

struct frame_table {
	VEC(struct recorded_frame) frames; /* after frame_table_name() */
	VEC(struct frame_reference) references;
	/* Of a frame id that is low, as the agent's are: its reference, or once named its frame,
	 * plus 1; 0: not met. */
	VEC(uint32_t) by_low_id;
	struct map by_id;     /* other frame ids to reference */
	struct map by_pc;     /* bare pc to its first reference; pc to its first frame */
	VEC(uint32_t) chains; /* of each frame, the next one of the same pc */
	uint32_t *names;      /* of each reference, its frame; NULL: not known yet */
};

void frame_table_deinit(struct frame_table *table);

/* A frame record. */
struct err *frame_table_define(struct frame_table *table, const struct decode_event *event);

/* The number of a frame on a stack at that time: its reference, or once named its frame. */
struct err *frame_table_reference_slow(struct frame_table *table, struct module_table *modules,
				       const struct decode_frame *frame, uint64_t ticks,
				       uint32_t *ret);

static inline struct err *frame_table_reference(struct frame_table *table,
						struct module_table *modules,
						const struct decode_frame *frame, uint64_t ticks,
						uint32_t *ret)
{
	// A bare pc has id 0, which is never in by_low_id.
	if (likely(frame->id < table->by_low_id.count) &&
	    likely(table->by_low_id.items[frame->id])) {
		*ret = table->by_low_id.items[frame->id] - 1;
		return NULL;
	}
	return frame_table_reference_slow(table, modules, frame, ticks, ret);
}

/*
 * Makes the frames. *same: references and frames have the same numbers. Else the recording is
 * to be read again, and frame_table_reference() gives frames.
 */
struct err *frame_table_name(struct frame_table *table, struct module_table *modules, bool *same);

/* Nothing will be asked for by reference any more. */
void frame_table_finish(struct frame_table *table);

#endif
