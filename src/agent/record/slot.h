/*
 * A thread's slot: the chunk of the file that the thread writes into. It is mapped shared, so what
 * was committed survives any end of the process (docs/trace-format.md, section 3).
 *
 *   none ──slot_open──► open ──slot_roll──► open (next sequence)
 *                        ▲ └──slot_rest──► at rest ──slot_forget──► none
 *                        └────slot_open──────┘
 *
 * The first slot has 4 KiB. A full slot is sealed and becomes a chunk where it stands, and the next
 * one is four times as large, up to 64 KiB. A full slot of 64 KiB is copied to the end of the file
 * instead, and used again. Larger ones serve records that need them (deep stacks).
 *
 * The slots of a live table (MODE=live) are never copied, and never unmapped: a core dump of the
 * process must have all of its frames and modules.
 *
 * When its thread has ended, a slot is at rest. The thread that gets the struct of the ended one
 * (thread_ended.h) goes on in the same slot and stream. So a thread that records little costs the
 * file the bytes of its records, not a chunk.
 *
 * All functions are called in a signal bracket, by the owning thread, but for slot_flush_all().
 */
#ifndef MALLOW_AGENT_RECORD_SLOT_H
#define MALLOW_AGENT_RECORD_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/record/file.h"

#define SLOT_FIRST_SIZE 4096u
#define SLOT_FULL_SIZE  65536u

struct thread;

/*
 * Goes on in the slot that the thread has. If it has none, makes one and opens the next chunk.
 * false: recording stopped, or no memory; the caller counts what is lost.
 */
bool slot_open(struct thread *thread);

/*
 * Opens the next chunk, with room for need bytes, which this one has not. false: as above, and the
 * thread has no cursor; or, for FILE_EVENTS, the file is full (STREAM_ONLY): then the slot stays as
 * it is, with its cursor, to be tried again at a later event.
 */
bool slot_roll(struct thread *thread, size_t need, enum file_use use);

/*
 * STREAM_ONLY: call both around writing FILE_NEEDED. slot_admit() opens the whole slot for it. Its
 * result is for slot_close_again(), which closes the rest of the slot if the file is full: events
 * then find no room in it until slot_roll() succeeds. Otherwise events would fill what was opened
 * for definitions, and the next definition would need another chunk.
 */
struct slot_admission {
	uint32_t sequence;
	bool closed;
};

struct slot_admission slot_admit(struct thread *thread);
void slot_close_again(struct thread *thread, struct slot_admission before);

/*
 * Drops the slot of a thread that is gone, because what it wrote last is not whole: the next thread
 * must not go on there.
 */
void slot_forget(struct thread *thread);

/* The thread ends: nothing is written until slot_open(). */
void slot_rest(struct thread *thread);

/*
 * Marks what the slot holds now as settled, so that it will not be counted as lost. To be called
 * before the slot leaves the file (file_cut.h), by any thread for any other.
 */
void slot_settle(struct thread *thread);

/*
 * Private slots only: appends what all threads have committed, while their slots stay open. Once
 * the recording has stopped, nothing is appended: then this counts, as lost, the events that no
 * file has. Only while system calls are allowed. false: not everything could be appended.
 */
bool slot_flush_all(void);

#endif
