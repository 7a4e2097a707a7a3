/*
 * One process image being recorded: begins with its first allocation, ends with exit or exec, and
 * begins anew in a forked child. Its state lives in memory that the kernel wipes at fork
 * (MADV_WIPEONFORK): a child, by whatever way it came to be, finds zeros, and the ordinary bounds
 * check of the hot path leads it to begin a recording of its own.
 */
#ifndef MALLOW_AGENT_LIFE_PROCESS_H
#define MALLOW_AGENT_LIFE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ground/address_set.h"
#include "agent/life/modules.h"
#include "agent/life/thread_ended.h"
#include "agent/record/file.h"
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
	uint32_t next_stream;  /* atomic */
	uint32_t threads_made; /* atomic: thread->number */
	uint32_t epoch;        /* atomic: counts what empties the threads' caches: modules unloaded,
				  memory of stacks that may be gone */
	uint32_t loss_if_stopped; /* enum trace_loss */
	uint32_t own_stacks;      /* atomic: own_stack.h */
	uint64_t last_sample_ns;
	struct thread *lone_thread; /* atomic; see event_clock.h */
	struct thread *threads;     /* atomic list of all that were ever made, by all_next */
	struct ended_threads ended;
	struct address_set recorded;             /* blocks, while not all are: admission.h */
	struct address_set recorded_pool_blocks; /* the same of the program's own pools … */
	struct address_set recorded_pools;       /* … that hold some */
	bool others_known;                       /* those sets hold those that are not: toggle.h */
	struct live *live;                       /* MODE=live: the table */
	struct cull *cull; /* atomic; NULL: nothing was held back yet: cull.h */
	struct file file;
	struct modules modules;
};

/* NULL until the first start. */
extern struct process *process hidden;

/* A seccomp filter is installed. Outside of struct process: children inherit the filter. */
extern bool process_forbidden hidden;

static inline enum process_state process_state(void)
{
	return process ? __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) : PROCESS_NEW;
}

static inline bool process_system_calls_forbidden(void)
{
	return __atomic_load_n(&process_forbidden, __ATOMIC_RELAXED);
}

/*
 * What needs to be known before anything else, once: the settings, the environment for children.
 * false: too early, or another thread is at it.
 */
bool process_read_settings(void);

/*
 * Whether a recording may begin: it is wanted, and there is memory for struct process. It is made
 * here, on the caller's stack, and with it the stacks that slow paths run on.
 */
bool process_prepare(void);

/*
 * After that. Begins the recording, once per image: others that come meanwhile get false and go
 * without. In a signal bracket. true: recording.
 */
bool process_start(void);

/* There was no file when it was to begin: it may be tried again. */
void process_try_again(void);

void process_count_losses(enum trace_loss reason, uint64_t count);
void process_count_loss(enum trace_loss reason);

/* The caller runs in a vfork child, in its parent's memory: it must not end the recording. */
bool process_is_borrowed(void);

/* The id of this image's recording, for children; zero before the first. */
extern uint8_t process_id[16];

#endif
