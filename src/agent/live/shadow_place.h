/* Where the entry of an address is in a plane of the shadow (shadow.h). */
#ifndef MALLOW_AGENT_LIVE_SHADOW_PLACE_H
#define MALLOW_AGENT_LIVE_SHADOW_PLACE_H

#include <stdint.h>

#include "agent/live/shadow.h"

/* For reading. NULL: nothing was ever written there. */
void *shadow_place_find(const struct shadow *shadow, unsigned int plane, uint64_t address);

/* For writing: the page counts as written to. NULL: no memory. */
void *shadow_place_make(struct shadow *shadow, unsigned int plane, uint64_t address);

/* The one, else the other. */
void *shadow_place_reach(struct shadow *shadow, unsigned int plane, uint64_t address);

#endif
