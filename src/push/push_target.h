/*
 * Where profiles are pushed to: a store and its URL, as users write it,
 *
 *	pyroscope+https://profiles.example/team      http: without encryption
 *	parca+http://127.0.0.1:7070
 *	otlp+https://collector.example:4318
 */
#ifndef MALLOW_PUSH_PUSH_TARGET_H
#define MALLOW_PUSH_PUSH_TARGET_H

#include <stdbool.h>

#include "hosted/err.h"

enum push_store {
	PUSH_PYROSCOPE, /* POST /push.v1.PusherService/Push, of Grafana Pyroscope 1.0 and later */
	PUSH_PARCA,     /* POST /profiles/writeraw */
	PUSH_OTLP,      /* POST /v1development/profiles: OpenTelemetry, declared alpha in 2026 */
	PUSH_STORES,
};

struct push_target {
	enum push_store store;
	char *url; /* what is posted to, owned: the user's URL and the store's path */
};

/* An error says what is allowed. A URL with a password is refused: everybody sees arguments. */
struct err *push_target_parse(const char *text, struct push_target *ret);
void push_target_deinit(struct push_target *target);

/*
 * Whether the store adds up what it gets of allocations over time, so that it wants what came since
 * the last profile. Parca keeps what it gets, and subtracts itself.
 */
static inline bool push_target_adds(const struct push_target *target)
{
	return target->store != PUSH_PARCA;
}

#endif
