/*
 * Programs of a run that are not recorded, as the agents tell the registry (REGISTRY_STARTED and
 * REGISTRY_REFUSED in trace/registry.h): each once, and no more than a hundred.
 */
#ifndef MALLOW_CLI_RUN_STARTED_PROGRAMS_H
#define MALLOW_CLI_RUN_STARTED_PROGRAMS_H

#include <stdbool.h>

#include "hosted/buf.h"
#include "hosted/err.h"
#include "hosted/vec.h"

struct started_programs {
	VEC(char *) texts; /* "why\npath" */
};

/* Keeps a copy. false: it is there already, is no such text, or they are too many. */
bool started_programs_add(struct started_programs *programs, const char *text);
void started_programs_deinit(struct started_programs *programs);

/* Writes what such a text says, without newline, safe for terminals. */
struct err *started_program_put(struct buf *buf, const char *text);

#endif
