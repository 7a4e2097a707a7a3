/* What a block counts for in the sums of the live table. */
#ifndef MALLOW_AGENT_LIVE_WEIGHT_H
#define MALLOW_AGENT_LIVE_WEIGHT_H

#include <stdint.h>

#include "agent/ground/config.h"
#include "base/compiler.h"

/* What a block adds to sums: 1 and its size; more if it is a sample. */
struct weight {
	uint64_t calls, bytes;
};

/* The weight of a sample: 1 / the probability that it became one (admission.h). */
struct weight weight_of_sample(uint64_t size, uint64_t mean);

static inline struct weight weight_of(uint64_t size)
{
	uint64_t mean = config.value[SETTING_SAMPLE];

	return likely(!mean) ? (struct weight){1, size} : weight_of_sample(size, mean);
}

#endif
