/*
 * The frames of a recording. While it is loaded, stacks name frames by *references*. A reference is
 * a frame id, which may be defined later (in another stream), or a bare pc. When all is read,
 * frame_table_name() turns references into frames, one for each (pc, module).
 *
 * Usually a frame has the number of its reference. If not, two stacks that seemed different may be
 * the same. Or, if modules came and went where a bare pc lies, stacks that seemed the same may be
 * different. Then the recording is read once more, and stacks name the frames themselves. What this
 * gives does not depend on which stream was read how far when a frame was met.
 */
#ifndef MALLOW_ANALYSIS_TABLES_FRAME_TABLE_H
#define MALLOW_ANALYSIS_TABLES_FRAME_TABLE_H

#include "analysis/tables/module_table.h"
#include "base/compiler.h"

struct frame_reference {
	uint64_t pc;
	uint64_t module; /* of a defined frame: id */
	uint32_t line;   /* of a script frame, as the name */
	const char *name;
	bool defined;
	bool bare;
};

struct frame_table {
	VEC(struct recorded_frame) frames; /* after frame_table_name() */
	VEC(struct frame_reference) references;
	/*
	 * For each low frame id (the agent's are low): its reference, or, once frames are named,
	 * its frame, plus 1. 0: not met.
	 */
	VEC(uint32_t) by_low_id;
	struct map by_id;     /* from other frame ids to references */
	struct map by_pc;     /* from bare pcs to references; then from pcs to first frames */
	VEC(uint32_t) chains; /* for each frame, the next one with the same pc */
	uint32_t *names;      /* for each reference, its frame; NULL: not known yet */
};

void frame_table_deinit(struct frame_table *table);

/* Takes a frame record. Names are copied into the arena. */
struct err *frame_table_define(struct frame_table *table, struct arena *arena,
			       const struct decode_event *event);

/*
 * *ret: the number of a frame on a stack at that time: its reference, or, once frames are named,
 * its frame.
 */
struct err *frame_table_reference_slow(struct frame_table *table,
				       const struct module_table *modules,
				       const struct decode_frame *frame, uint64_t ticks,
				       uint32_t *ret);

static inline struct err *frame_table_reference(struct frame_table *table,
						const struct module_table *modules,
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
 * Turns references into frames. *same: references and frames have the same numbers. If not, the
 * recording must be read again; frame_table_reference() then returns frames.
 */
struct err *frame_table_name(struct frame_table *table, const struct module_table *modules,
			     bool *same);

/* Frees what was needed for references: nobody asks for one any more. */
void frame_table_finish(struct frame_table *table);

#endif
