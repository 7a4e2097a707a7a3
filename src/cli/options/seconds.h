/* Times as people type them: seconds, which may have a fraction, or with a unit. */
#ifndef MALLOW_CLI_OPTIONS_SECONDS_H
#define MALLOW_CLI_OPTIONS_SECONDS_H

#include <stdbool.h>
#include <stdint.h>

/* 5, 0.5, 500ms, 2m: in nanoseconds, from 1 ms to 1e9 s. false: it is none of these. */
bool seconds_read(const char *text, uint64_t *ret_ns);

#endif
