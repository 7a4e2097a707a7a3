/*
 * The words that all rooms ask for: whether this process records, whether it may call the kernel,
 * what it has lost, whether it is switched off.
 *
 * struct process is of one process image. It lies in memory that the kernel wipes at fork
 * (MADV_WIPEONFORK): a child, by whatever way it came to be, finds zeros, and the ordinary bounds
 * check of the hot path leads it to begin a recording of its own. Behind it lies what single rooms
 * keep for an image, wiped with it: struct image of life/process.c puts them together. What stands
 * outside goes on in a child.
 */
#ifndef MALLOW_AGENT_GROUND_STATE_H
#define MALLOW_AGENT_GROUND_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

enum process_state {
	PROCESS_NEW = 0, /* nothing happened yet, or freshly forked */
	PROCESS_STARTING,
	PROCESS_RECORDING,
	PROCESS_STOPPED, /* by a fault: events are counted as lost */
	PROCESS_OFF,     /* nothing is recorded: no file, or FOLLOW=0 */
};

struct thread;

/* Zero after fork. */
struct process {
	uint32_t state; /* enum process_state, atomic */
	int pid;
	struct trace_header *header; /* atomic: the recording's, once there is a file */
	uint32_t loss_if_stopped;    /* enum trace_loss */
	uint32_t epoch;              /* atomic: counts what empties the threads' caches: modules
					unloaded, memory of stacks that may be gone */
	uint32_t own_stacks;         /* atomic: own_stack.h */
	uint32_t next_stream;        /* atomic */
	uint32_t threads_made;       /* atomic: thread->number */
	struct thread *threads;      /* atomic list of all that were ever made, by all_next */
	struct thread *lone_thread;  /* atomic; see event_clock.h */
	struct live *live;           /* MODE=live: the table */
	struct cull *cull;           /* atomic; NULL: nothing was held back yet: cull.h */
};

/* NULL until the first start. Once it is not, it never changes. */
extern struct process *process hidden;

/* A seccomp filter is installed. Outside of struct process: children inherit the filter. */
extern bool process_forbidden hidden;

/* The id of this image's recording, for children; zero before the first. */
extern uint8_t process_id[16] hidden;

static inline enum process_state process_state(void)
{
	return process ? __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) : PROCESS_NEW;
}

static inline bool process_system_calls_forbidden(void)
{
	return __atomic_load_n(&process_forbidden, __ATOMIC_RELAXED);
}

/* Counts, in the recording's header; where there is none, nothing was to be recorded. */
void process_count_losses(enum trace_loss reason, uint64_t count);
void process_count_loss(enum trace_loss reason);

/* The caller runs in a vfork child, in its parent's memory: it must not end the recording. */
bool process_is_borrowed(void);

/* Switching off and on: life/toggle.h. */
enum toggle_state {
	TOGGLE_ON = 0,
	TOGGLE_OFF,
	TOGGLE_UNSETTLED, /* the settings are not read yet */
};

/* Kept across fork: a child goes on as its parent was. Atomic. */
extern uint32_t toggle_state hidden; /* enum toggle_state */
extern uint32_t toggle_watched hidden;
extern uint32_t toggle_idle hidden;
extern bool toggle_started hidden; /* somebody asked for it: what was there before is not known */

/* Not on. */
static inline bool toggle_is_off(void)
{
	return unlikely(__atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_ON);
}

/*
 * Linked into a program that nobody wants to record, so far: every hook hands on at once. Asked by
 * those that are called most, where they find that their thread is not open.
 */
static inline bool toggle_is_idle(void)
{
	return __atomic_load_n(&toggle_idle, __ATOMIC_RELAXED);
}

/* Whether there may be stops, so that recorded blocks must be known. */
static inline bool toggle_is_watched(void)
{
	return __atomic_load_n(&toggle_watched, __ATOMIC_SEQ_CST);
}

/*
 * What the hooks that are called most do for a thread that is open (guard_is_open()). Set before
 * the first thread is, and never changed; a child goes on with it.
 */
enum live_way {
	LIVE_WAY_NONE = 0, /* they are recorded */
	LIVE_WAY_ALL,      /* MODE=live: the table has them */
	LIVE_WAY_SAMPLES,  /* … and what is no sample is passed over: live/live_hook.h */
};

extern uint8_t live_way hidden;

#endif
