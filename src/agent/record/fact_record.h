/*
 * Writing all records but events (docs/trace-format.md, section 4.2): facts, modules, threads,
 * mmaps. They are rare, so each is built in a small buffer first.
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
	const void *text; /* the rest of the record; cut to what a chunk holds */
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

/*
 * Writes the record, if the sink wants its kind. Takes the signal bracket itself where the slot has
 * to roll. With `busy` set. false: it is lost, and counted.
 */
bool fact_record_write(struct thread *thread, const struct fact_record *record);

/*
 * How many bytes the record takes at most; and writes it. For fact_record_put() that much room must
 * be left in the chunk.
 */
size_t fact_record_room(const struct fact_record *record);
void fact_record_put(struct thread *thread, const struct fact_record *record);

/* Whether records of this kind are events, so that losing one is counted. */
bool fact_record_is_event(uint8_t kind);

/*
 * Counts records or events that the thread could not write, with the reason. If recording has
 * stopped: why it stopped. Else, if the thread has no cursor: no memory. Else the file is full
 * (STREAM_ONLY), or its file system hangs (private slots).
 */
void fact_record_lost(const struct thread *thread, uint64_t count);

/*
 * Makes room for size bytes of events, by rolling the slot if need be. false: stopped, or no
 * memory, and the thread has no cursor; or the file is full, and the thread goes on as it was.
 */
bool fact_record_reserve(struct thread *thread, size_t size);

/*
 * Records about a thread in its stream: its start, name, tag and end. All with `busy` set.
 *
 * Writes the first record of a thread, in a stream of its own or after the records of a thread that
 * has ended. In a signal bracket.
 */
void thread_record_begin(struct thread *thread);

/* Writes the thread's name if it is new. In a signal bracket. */
void thread_record_name(struct thread *thread);

/* Writes the thread's tag (mallow_set_tag) if its stream has another one. */
void thread_record_tag(struct thread *thread);

/* Writes the last record of a thread. In a signal bracket. */
void thread_record_end(struct thread *thread);

#endif
