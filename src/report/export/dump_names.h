/* The frames and modules that a recording defines: for `trace dump --stacks`. */
#ifndef MALLOW_REPORT_EXPORT_DUMP_NAMES_H
#define MALLOW_REPORT_EXPORT_DUMP_NAMES_H

#include "hosted/buf.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "trace/decode.h"

struct dump_module {
	uint64_t id;
	uint64_t bias;
	char *name; /* the last part of the path, owned */
};

struct dump_frame {
	uint64_t pc;
	uint64_t module; /* id */
};

struct dump_names {
	VEC(struct dump_module) modules;
	VEC(struct dump_frame) frames;
	struct map frame_by_id;  /* values: indices of frames */
	struct map module_by_id; /* values: indices of modules */
};

void dump_names_deinit(struct dump_names *names);

/* Takes note of a frame or module record; ignores others. */
struct err *dump_names_note(struct dump_names *names, const struct decode_event *event);

/* Writes "libc.so.6+0x1234"; "0x7f…" if no module is known; or what a special pc means. */
void dump_names_put(struct buf *buf, const struct dump_names *names,
		    const struct decode_frame *frame);

/* The frame's pc; 0: its id is not defined. */
uint64_t dump_names_pc(const struct dump_names *names, const struct decode_frame *frame);

#endif
