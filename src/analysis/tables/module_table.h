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
	uint32_t last;    /* the index that module_table_at() found last */
};

void module_table_deinit(struct module_table *table);

/* Takes a module record. The same id again changes nothing: two threads may write it. */
struct err *module_table_add(struct module_table *table, struct arena *arena,
			     const struct decode_event *event);
void module_table_gone(struct module_table *table, const struct decode_event *event);

/* The index of the module with that id. RECORDING_NONE: there is none. */
uint32_t module_table_find(const struct module_table *table, uint64_t id);

/* The module that contained the return address pc at that time. RECORDING_NONE: none did. */
uint32_t module_table_at(struct module_table *table, uint64_t pc, uint64_t ticks);

/*
 * As module_table_at(). If no module is known to have been there, takes the one that was loaded
 * there next: a module is recorded when its first frame is met, shortly after that frame's time was
 * taken.
 */
uint32_t module_table_near(struct module_table *table, uint64_t pc, uint64_t ticks);

#endif
