/*
 * State that all rooms ask for: whether this process records, whether it may call the kernel, what
 * it has lost, whether recording is switched off.
 *
 * struct process belongs to one process image. It lies in memory that the kernel wipes at fork
 * (MADV_WIPEONFORK). So a child finds zeros, however it was made, and the ordinary bounds check of
 * the hot path leads it to begin a recording of its own. The memory also holds what single rooms
 * keep for an image: struct image of life/process.c puts them together. Variables outside of it
 * keep their values in a child.
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
	PROCESS_STOPPED, /* by an error: events are counted as lost */
	PROCESS_OFF,     /* nothing is recorded: no file, or FOLLOW=0 */
};

struct thread;

/* Zero after fork. */
struct process {
	uint32_t state; /* enum process_state, atomic */
	int pid;
	struct trace_header *header; /* atomic: the recording's, once there is a file */
	uint32_t loss_if_stopped;    /* enum trace_loss: what later events count as */
	/* Atomic. Grows when modules were unloaded, or memory of stacks may be gone: then threads
	 * empty their caches. */
	uint32_t epoch;
	uint32_t own_stacks;        /* atomic: signal_bracket.h */
	uint32_t next_stream;       /* atomic */
	uint32_t threads_made;      /* atomic: thread->number */
	uint32_t streams_begun;     /* atomic: streams that have a chunk in the file */
	bool facts_written;         /* by the thread of the first stream */
	struct thread *threads;     /* atomic list of all ever made, by all_next */
	struct thread *lone_thread; /* atomic; see event_clock.h */
	struct live *live;          /* MODE=live: the table */
	struct cull *cull;          /* atomic; NULL: nothing was held back yet: cull.h */
};

/* NULL until the first start; then it never changes. */
extern struct process *process hidden;

/* A seccomp filter is installed. Outside of struct process: children inherit the filter. */
extern bool process_forbidden hidden;

/* It is not a filter but Syscall User Dispatch, which children do not inherit. */
extern bool process_dispatched hidden;

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

/*
 * Counts losses in the recording's header. Does nothing if there is no recording. Any thread, any
 * signal handler.
 */
void process_count_losses(enum trace_loss reason, uint64_t count);
void process_count_loss(enum trace_loss reason);

/* Whether this is a vfork child, in its parent's memory: it must not end the recording. */
bool process_is_borrowed(void);

/* Switching off and on: life/toggle.h. */
enum toggle_state {
	TOGGLE_ON = 0,
	TOGGLE_OFF,
	TOGGLE_UNSETTLED, /* the settings are not read yet */
};

/* Kept across fork: a child begins as its parent was. Atomic. */
extern uint32_t toggle_state hidden;   /* enum toggle_state */
extern uint32_t toggle_wanted hidden;  /* enum toggle_state: what was asked for last */
extern uint32_t toggle_watched hidden; /* toggle_is_watched() */
extern uint32_t toggle_idle hidden;    /* toggle_is_idle() */
extern bool toggle_started hidden;     /* by a request: older blocks are not known */

/* Whether recording is not on. */
static inline bool toggle_is_off(void)
{
	return unlikely(__atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_ON);
}

/*
 * Whether the agent is linked into a program and nobody has asked for a recording yet: every hook
 * only calls the real function. The busiest hooks ask this when their thread is not open.
 */
static inline bool toggle_is_idle(void)
{
	return __atomic_load_n(&toggle_idle, __ATOMIC_RELAXED);
}

/* Whether recording may be stopped. Then the agent must know which blocks it has recorded. */
static inline bool toggle_is_watched(void)
{
	return __atomic_load_n(&toggle_watched, __ATOMIC_SEQ_CST);
}

/*
 * What the busiest hooks do for a thread that is open (guard_is_open()). Set before the first
 * thread is open, and never changed, not in a child either.
 */
enum live_way {
	LIVE_WAY_NONE = 0, /* they record events */
	LIVE_WAY_ALL,      /* MODE=live: they keep the table */
	LIVE_WAY_SAMPLES,  /* … and pass over what is no sample: live/live_hook.h */
};

extern uint8_t live_way hidden;

#endif
