/*
 * OpenTelemetry's profiles, made of one of pprof: the message ExportProfilesServiceRequest of
 * opentelemetry/proto/collector/profiles/v1development, as of version 1.10 of the protocol, which
 * declares it alpha: later versions may refuse it.
 *
 *	pprof         mapping, location, function, string: numbers from 1 on are positions
 *	dictionary    the same numbers, as entry 0 of each table stands for "none"
 *
 * A profile has one kind of value there, so each of pprof's becomes a profile of its own; each
 * stack is in the dictionary once.
 */
#ifndef MALLOW_PUSH_OTLP_H
#define MALLOW_PUSH_OTLP_H

#include "push/push_body.h"

/* An error: the profile is damaged, or no memory. */
struct err *otlp_put(struct buf *buf, const struct push_profile *profile);

#endif
