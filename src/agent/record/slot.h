/*
 * A thread's slot: the chunk of the file that it writes into, mapped shared, so that what was
 * committed survives any end of the process (docs/trace-format.md, section 3).
 *
 *   none ──slot_open──► open ──slot_roll──► open (next sequence)
 *                        ▲ └──slot_rest──► at rest ──slot_forget──► none
 *                        └────slot_open──────┘
 *
 * A slot begins with 4 KiB. Each time it is full it becomes a sealed chunk where it stands and one
 * four times as large is made, up to 64 KiB; from then on it is copied to the end of the file and
 * used again. Sizes above serve records that need them (deep stacks).
 *
 * When its thread has ended a slot is at rest. It stays as it is, and the thread that gets the
 * memory of the ended one (thread_ended.h) goes on in it, in the same stream: a thread that records
 * little costs the file the bytes of its records, not a chunk.
 *
 * All functions in a signal bracket, by the owning thread.
 */
#ifndef MALLOW_AGENT_RECORD_SLOT_H
#define MALLOW_AGENT_RECORD_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_FIRST_SIZE 4096u
#define SLOT_FULL_SIZE  65536u

struct thread;

/*
 * Goes on in the slot that the thread has, else gives it one and opens the chunk of its next
 * sequence. false: stopped, or no memory; what is lost by that the caller counts.
 */
bool slot_open(struct thread *thread);

/* The chunk has no room for need bytes more: opens the next one, which has. false: as above. */
bool slot_roll(struct thread *thread, size_t need);

/* What the thread wrote is not whole: the next one with its struct does not go on with it. */
void slot_forget(struct thread *thread);

/* The thread ends. Nothing is written until slot_open(). */
void slot_rest(struct thread *thread);

/*
 * Private slots only: the committed part goes to the file by way of scratch, the slot stays open.
 * Any thread may do it to any other. Slots that need more than room bytes are left out: false.
 */
bool slot_flush_private(struct thread *thread, void *scratch, size_t room);

#endif
