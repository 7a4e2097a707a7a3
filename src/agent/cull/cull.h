/*
 * CULL=time: an allocation is held back until it is that old. If it is freed before, it never
 * becomes an event of the recording: it is culled, and only counted for its stack (cull_entries.h).
 * So the sums of each site are exact.
 *
 *   allocation ──► entry, its address in the table ──► taken by whoever comes first:
 *                    a free while it is young              culled: counted for its stack
 *                    a free later, a look around, the end  survives: written as a record
 *
 * A realloc of a block that is held back is held back, too. The two are a chain, which is as old as
 * its first block, and is decided as a whole: counted, or written as an allocation and its
 * reallocs. A realloc of a block that was written is written.
 *
 * Any thread may take any entry. So a thread that meets a survivor of another one writes it, with
 * the number of the stream that it belongs to, and an idle thread's blocks are not forgotten. The
 * entries are looked through piece by piece, as time passes, by whichever thread has an event:
 * cull_look_around(). Nobody waits for anybody.
 *
 * A block is temporary if it is its thread's newest allocation when it is freed. Readers cannot
 * tell that from the events, because culled allocations are missing there. So the agent counts the
 * temporary blocks, culled or written. It therefore does not write a thread's newest allocation for
 * its age alone. And if the newest one was written as an event (a realloc), it keeps the entry
 * until there is a newer one.
 *
 * A block is written as without CULL if it cannot be held back: no memory, too many are, or it is
 * of a signal handler that interrupted the agent. After the end of the process all blocks are.
 *
 * Only where config.value[SETTING_CULL] is set; thread->selective is then set, too.
 */
#ifndef MALLOW_AGENT_CULL_CULL_H
#define MALLOW_AGENT_CULL_CULL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

struct event;
struct sink;
struct thread;

extern const struct sink cull_sink hidden;

/*
 * Holds an allocation back. Its stack is thread->stack, settled, and its frames have ids. replaced:
 * for a realloc, what cull_replaces() returned; else 0. false: the caller must write it; what it
 * replaced was written. With `busy` set, like all functions here.
 */
bool cull_holds(struct thread *thread, struct event *event, uint32_t replaced);

/*
 * Notes that the allocation, which is written now, is the thread's newest. Its stack is
 * thread->stack.
 */
void cull_notes(struct thread *thread, const struct event *event);

/*
 * Notes that the thread's newest allocation is one that is not held here. Also in a signal handler.
 */
void cull_forgets_newest(struct thread *thread);

/*
 * A block ends. true: it was culled, so its end is no event. false: its allocation is written by
 * now, and its end must be. in_handler: the thread is in the middle of a write, so nothing can be
 * written now.
 */
bool cull_ends(struct thread *thread, uint64_t address, uint64_t ticks, bool in_handler);

/*
 * Before a realloc: takes the old block from those that are held back. Returns its entry; then one
 * of the next three functions must follow. 0: the block is not held back.
 */
uint32_t cull_takes(struct thread *thread, uint64_t address);

/* The realloc failed: the block is held back again. */
void cull_puts_back(struct thread *thread, uint32_t number, uint64_t address);

/* The realloc freed the block. Does and returns the same as cull_ends(). */
bool cull_ends_taken(struct thread *thread, uint32_t number, uint64_t address, uint64_t ticks,
		     bool in_handler);

/*
 * The realloc replaced the block. Returns its entry, for cull_holds() or cull_gives_up(). 0: in a
 * handler, where the chain ends here and counts as culled; or in a child, if the entry was its
 * parent's.
 */
uint32_t cull_replaces(struct thread *thread, uint32_t number, uint64_t address, bool in_handler);

/* The event that replaced the block was lost: what it replaced counts as culled. */
void cull_gives_up(struct thread *thread, uint32_t number, uint64_t address);

/* If it is time: writes what is old by now in one part of the entries, and one part of the sums. */
void cull_look_around(struct thread *thread, uint64_t ticks);

/*
 * Writes all blocks that are held back and all sums, into the stream of `thread`. false: nothing
 * was written, because the thread was kept over a fork (thread->forked), or there is no memory. In
 * a signal bracket.
 */
bool cull_write_all(struct thread *thread);

/* The process ends: the same; nothing is held back until cull_resume(). In a signal bracket. */
bool cull_finish(struct thread *thread);
void cull_resume(void);

/* Nothing can be written any more: counts what is held back as lost. */
void cull_lose(enum trace_loss reason);

/* The thread ends: leaves what it holds back to others. In a signal bracket. */
void cull_thread_ends(struct thread *thread);

#endif
