/* Part of struct recording: what the table of a program in live mode gave. */
#ifndef MALLOW_ANALYSIS_LIVE_LIVE_DATA_H
#define MALLOW_ANALYSIS_LIVE_LIVE_DATA_H

#include "analysis/live/live_facts.h"
#include "hosted/vec.h"

/* Zeroed: the recording has events. */
struct live_data {
	struct live_facts facts;     /* points into the other members */
	VEC(struct site_life) sites; /* times are ticks until loading is finished */
	VEC(struct live_interval) intervals;
	VEC(struct thread_sums) threads;
	VEC(struct thread_handover) handovers;
};

void live_data_deinit(struct live_data *live);

#endif
