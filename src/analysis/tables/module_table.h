/* The modules of a recording: by id while loading, by address and time. */
#ifndef MALLOW_ANALYSIS_TABLES_MODULE_TABLE_H
#define MALLOW_ANALYSIS_TABLES_MODULE_TABLE_H

#include "analysis/recording.h"
#include "hosted/arena.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "trace/decode.h"

/* Until module_table_finish() the times in the modules are ticks. */
struct module_table {
	VEC(struct recorded_module) modules;
	struct map by_id; /* id to index */
	uint32_t last;    /* index found last by module_table_at() */
};

void module_table_deinit(struct module_table *table);

/* A module record. The same id again, as two threads may write it, changes nothing. */
struct err *module_table_add(struct module_table *table, struct arena *arena,
			     const struct decode_event *event);
void module_table_gone(struct module_table *table, const struct decode_event *event);

/* RECORDING_NONE: no such module. */
uint32_t module_table_find(const struct module_table *table, uint64_t id);

/* The module whose code held the return address pc at that time. */
uint32_t module_table_at(struct module_table *table, uint64_t pc, uint64_t ticks);

/*
 * As module_table_at(), but where none is known to have been there, the one that was loaded next:
 * a module is recorded when its first frame is met, shortly after that frame's time was taken.
 */
uint32_t module_table_near(struct module_table *table, uint64_t pc, uint64_t ticks);

#endif
