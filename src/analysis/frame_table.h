/*
 * The frames of a recording. While loading, stacks name them by *reference*: one for each frame
 * id, whose definition may come later (in another stream), and one for each bare pc in a module.
 * When all is read, references become frames that are unique by (pc, module).
 */
#ifndef MALLOW_ANALYSIS_FRAME_TABLE_H
#define MALLOW_ANALYSIS_FRAME_TABLE_H

#include "analysis/module_table.h"

struct frame_reference {
	uint64_t pc;
	uint64_t ticks;  /* of a bare pc: when it was first met */
	uint64_t module; /* id of a defined frame's, index of a bare pc's */
	uint32_t next;   /* another reference of the same pc, see by_pc */
	bool defined;
	bool bare;
};

struct frame_table {
	VEC(struct recorded_frame) frames; /* after frame_table_finish() */
	VEC(struct frame_reference) references;
	struct map by_id; /* frame id to reference */
	struct map by_pc; /* bare pc to its first reference */
};

void frame_table_deinit(struct frame_table *table);

/* A frame record. */
struct err *frame_table_define(struct frame_table *table, const struct decode_event *event);

/* The reference of a frame on a stack at that time. */
struct err *frame_table_reference(struct frame_table *table, struct module_table *modules,
				  const struct decode_frame *frame, uint64_t ticks, uint32_t *ret);

/*
 * Makes the frames. remap: room for one number for each reference, receives its frame's index.
 * *unique: no two references are the same frame. The references are gone afterwards.
 */
struct err *frame_table_finish(struct frame_table *table, struct module_table *modules,
			       uint32_t *remap, bool *unique);

#endif
