/* Records of what the program does, each with the stack at which it does so (fact_record.h). */
#ifndef MALLOW_AGENT_RECORD_FACT_HERE_H
#define MALLOW_AGENT_RECORD_FACT_HERE_H

#include "agent/record/fact_record.h"

struct unwind_state;

/*
 * Writes the record with the stack of the caller that state describes. Does nothing while recording
 * is stopped. Call it with `busy` set.
 */
void fact_here_write(struct thread *thread, const struct fact_record *record,
		     const struct unwind_state *state);

/* The same, but also while recording is stopped. */
void fact_here_write_kept(struct thread *thread, const struct fact_record *record,
			  const struct unwind_state *state);

#endif
