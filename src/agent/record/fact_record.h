/*
 * Writing the other records (docs/trace-format.md, section 4.2): facts, modules, threads, mmaps.
 * Rare, so each is built in a small buffer first.
 */
#ifndef MALLOW_AGENT_RECORD_FACT_RECORD_H
#define MALLOW_AGENT_RECORD_FACT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "trace/format.h"

struct thread;

#define FACT_RECORD_FIELDS 10

struct fact_record {
	uint8_t kind; /* enum trace_record */
	bool has_time;
	uint64_t ticks;
	uint8_t count;
	uint64_t fields[FACT_RECORD_FIELDS];
	const void *text; /* the rest; cut to what a chunk holds */
	size_t text_size;
};

static inline void fact_record_add(struct fact_record *record, uint64_t field)
{
	record->fields[record->count++] = field;
}

static inline void fact_record_add_signed(struct fact_record *record, int64_t field)
{
	fact_record_add(record, zigzag(field));
}

/* Writes it; takes the signal bracket itself where the slot has to roll. With `busy` set. */
bool fact_record_write(struct thread *thread, const struct fact_record *record);

/* What it takes at most, and writing it where there is that much room behind the cursor. */
size_t fact_record_room(const struct fact_record *record);
void fact_record_put(struct thread *thread, const struct fact_record *record);

/* Counts records or events that could not be written: by why it stopped, else for want of memory.
 */
void fact_record_lost(uint64_t count);

/* Room for size bytes behind the cursor, by rolling if need be. false: recording stopped. */
bool fact_record_reserve(struct thread *thread, size_t size);

#endif
