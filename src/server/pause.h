/* Waiting within a request, which the end of the server cuts short. For several threads. */
#ifndef MALLOW_SERVER_PAUSE_H
#define MALLOW_SERVER_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

struct pause;

struct err *pause_create(struct pause **ret);
/* Accepts NULL. Nobody may be waiting. */
void pause_destroy(struct pause *pause);

/* false: not so long, for pause_end() was called. */
bool pause_wait(struct pause *pause, uint64_t seconds);
void pause_end(struct pause *pause);

#endif
