/*
 * CULL=time: an allocation is held back, and what is freed before it is so old is never an event
 * of the recording. What is culled is counted for its stack (cull_stacks.h), so that the sums of
 * each site are exact.
 *
 *   allocation ──► entry, its address in the table ──► taken by whoever comes first:
 *                    a free while it is young              culled: counted for its stack
 *                    a free later, a look around, the end  survives: written as a record
 *
 * A realloc of a block that is held back holds the new one back, too, as old as the first of the
 * chain: both are decided for together, and written as an allocation and its reallocs. One of a
 * block that was written is written.
 *
 * Any thread may take any entry, so survivors are written by whoever meets them, with the stream
 * that they belong to, and an idle thread's are not forgotten. A look around comes by the clock,
 * piece by piece, with events of whichever thread: cull_look_around(). Nobody waits for anybody.
 *
 * A block is temporary if it is its thread's newest allocation when it is freed. Of culled ones
 * the agent counts that, so it does so of all. The newest one of a thread is not written for its
 * age alone. Where the newest was written as an event (a realloc), its entry is kept for that.
 *
 * What finds no room is written as it would be without CULL: no memory, too many held back,
 * a signal handler's that interrupted the agent. So is everything once the process has ended.
 *
 * Only where config.value[SETTING_CULL] is set; thread->selective is then, too.
 */
#ifndef MALLOW_AGENT_CULL_CULL_H
#define MALLOW_AGENT_CULL_CULL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

struct event;
struct thread;

/*
 * Holds an allocation back, whose stack is thread->stack, settled, its frames with ids. replaced:
 * of a realloc what cull_replaces() returned, else 0. false: it is to be written, and all that it
 * replaced was. With `busy` set, as all others here.
 */
bool cull_holds(struct thread *thread, struct event *event, uint32_t replaced);

/* An allocation that was written, with that stack, is the thread's newest. */
void cull_notes(struct thread *thread, const struct event *event);

/* The thread has a newer allocation than those that it told of. In a signal handler, too. */
void cull_forgets_newest(struct thread *thread);

/*
 * A block ends. true: it was culled, and its end is no event. else the allocation is one, too, by
 * now. in_handler: the thread is in the middle of a write, so that nothing can be written now.
 */
bool cull_ends(struct thread *thread, uint64_t address, uint64_t ticks, bool in_handler);

/*
 * Before a realloc: takes the old block from those that are held back. Returns its entry, 0: it
 * is none of them. One of the next three is to follow.
 */
uint32_t cull_takes(struct thread *thread, uint64_t address);

/* The realloc failed: the block is held back as before. */
void cull_puts_back(struct thread *thread, uint32_t number, uint64_t address);

/* It freed the block: as cull_ends(). */
bool cull_ends_taken(struct thread *thread, uint32_t number, uint64_t address, uint64_t ticks,
		     bool in_handler);

/*
 * It replaced the block. Returns its entry, for cull_holds() or cull_gives_up(). 0:
 * in_handler, where the chain ends here and counts as culled, or a parent's entry, in a child.
 */
uint32_t cull_replaces(struct thread *thread, uint32_t number, uint64_t address, bool in_handler);

/* The event that replaced the block was lost: what it replaced counts as culled. */
void cull_gives_up(struct thread *thread, uint32_t number, uint64_t address);

/* If it is time to: writes what is old by now, and a part of what was counted. */
void cull_look_around(struct thread *thread, uint64_t ticks);

/*
 * Writes all that is held back and counted, by thread. false: it cannot be had now. In a
 * signal bracket.
 */
bool cull_write_all(struct thread *thread);

/*
 * The process ends: the same, and nothing is held back from now on, until cull_resume(). In a
 * signal bracket.
 */
bool cull_finish(struct thread *thread);
void cull_resume(void);

/* Nothing can be written any more: what is held back is lost, and counted so. */
void cull_lose(enum trace_loss reason);

/* What the thread held back is left to others. In a signal bracket. */
void cull_thread_ends(struct thread *thread);

#endif
