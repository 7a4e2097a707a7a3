/* Records of what the program does, with the stack that it does it by (fact_record.h). */
#ifndef MALLOW_AGENT_RECORD_FACT_HERE_H
#define MALLOW_AGENT_RECORD_FACT_HERE_H

#include "agent/record/fact_record.h"

struct unwind_state;

/* Belonging to the stack that state describes. With `busy` set. */
void fact_here_write(struct thread *thread, const struct fact_record *record,
		     const struct unwind_state *state);

/* The same for one that is wanted while recording is stopped, too. */
void fact_here_write_kept(struct thread *thread, const struct fact_record *record,
			  const struct unwind_state *state);

#endif
