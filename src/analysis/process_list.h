/*
 * A list of processes that were recorded, each with its facts and sums, parents before their
 * children. The recordings need not stay open.
 */
#ifndef MALLOW_ANALYSIS_PROCESS_LIST_H
#define MALLOW_ANALYSIS_PROCESS_LIST_H

#include "analysis/recording.h"
#include "hosted/arena.h"
#include "hosted/vec.h"

/* A process image: exec ends one and begins another, its child. */
struct listed_process {
	struct recording_facts facts; /* strings belong to the list; without the environment */
	struct recording_summary summary;
	uint32_t number; /* how many were added before it, plus 1 */
	/* After process_list_order(): */
	uint32_t parent; /* index; RECORDING_NONE: its recording is not in the list */
	uint32_t depth;  /* 0: it has no parent in the list */
	bool last;       /* it is the last child of its parent */
};

/* Zeroed: empty. */
struct process_list {
	struct arena arena;
	VEC(struct listed_process) items;
};

void process_list_deinit(struct process_list *list);

/* Whether a recording with that id is in the list. */
bool process_list_has(const struct process_list *list, const char *id);

/* Adds a recording. Copies what the list needs of it. */
struct err *process_list_add(struct process_list *list, const struct recording *recording);

/*
 * Orders the list: each process behind its parent, before others that began later. Recordings that
 * claim to be each other's parents get no parent.
 */
struct err *process_list_order(struct process_list *list);

#endif
