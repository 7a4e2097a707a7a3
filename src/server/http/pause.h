/* Waiting within a request. The end of the server cuts it short. For several threads. */
#ifndef MALLOW_SERVER_HTTP_PAUSE_H
#define MALLOW_SERVER_HTTP_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

struct pause;

struct err *pause_create(struct pause **ret);
/* Accepts NULL. Nobody may be waiting. */
void pause_destroy(struct pause *pause);

/* Waits so many seconds. false: pause_end() was called before they were over. */
bool pause_wait(struct pause *pause, uint64_t seconds);
void pause_end(struct pause *pause);

#endif
