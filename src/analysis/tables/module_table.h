/* The modules of a recording: by id while it is loaded, and by address and time. */
#ifndef MALLOW_ANALYSIS_TABLES_MODULE_TABLE_H
#define MALLOW_ANALYSIS_TABLES_MODULE_TABLE_H

#include "analysis/recording.h"
#include "hosted/arena.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "trace/decode.h"

/* Until load_finish() the times in the modules are ticks. */
struct module_table {
	VEC(struct recorded_module) modules;
	struct map by_id; /* from id to index */
	struct map gone;  /* from id to when it was unloaded, also of those not met yet */
};

void module_table_deinit(struct module_table *table);

/*
 * Take records of modules, of all streams in any order: of two streams the one whose record came
 * later may be read first. Two threads may write the same id: its earliest time counts.
 */
struct err *module_table_add(struct module_table *table, struct arena *arena,
			     const struct decode_event *event);
struct err *module_table_gone(struct module_table *table, const struct decode_event *event);

/* The index of the module with that id. RECORDING_NONE: there is none. */
uint32_t module_table_find(const struct module_table *table, uint64_t id);

/*
 * The module that contained the return address pc at that time. If no module is known to have been
 * there, the one that was loaded there next: a module is recorded when its first frame is met,
 * shortly after that frame's time was taken. RECORDING_NONE: there is none.
 */
uint32_t module_table_near(const struct module_table *table, uint64_t pc, uint64_t ticks);

/* Once all records are taken: whether module_table_near() depends on the time. */
bool module_table_varies(const struct module_table *table, uint64_t pc);

#endif
