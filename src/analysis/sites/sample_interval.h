/*
 * How far the estimate of a sum over sampled blocks may be off.
 *
 * A block that was sampled with the probability p counts 1 / p times (sample_weight.h): for itself,
 * and for (1 - p) / p others that were not. Each was sampled independent of all others, so the
 * variance of the sum of amounts y is estimated by the sum of y^2 (1 - p) / p^2 over the samples.
 */
#ifndef MALLOW_ANALYSIS_SITES_SAMPLE_INTERVAL_H
#define MALLOW_ANALYSIS_SITES_SAMPLE_INTERVAL_H

#include <stdint.h>

/* Sums over the samples of one estimate. Zeroed: none so far. */
struct sample_spread {
	double held;     /* amounts of the samples themselves */
	double variance; /* of the estimate */
	double lean;     /* of each its part of the variance, times what it stands for */
};

/*
 * Takes in a sampled block of size bytes. amount: what it adds to the sum, its bytes or 1. mean: as
 * in the header, not 0.
 */
void sample_spread_add(struct sample_spread *spread, uint64_t mean, uint64_t size, uint64_t amount);

/* Whole numbers, both within: low <= estimate <= high. */
struct sample_interval {
	uint64_t low, high;
};

/*
 * In 95 of 100 samples of the same blocks, or some more, what is estimated is within.
 *
 * With many samples each end is 1.96 standard deviations from the estimate. With few that would be
 * wrong, for who took too few by chance has too small an estimate and too small a variance, both of
 * the same samples: the variance of a sum that is higher by d is higher by about d * lean /
 * variance. The upper end is the sum from which the estimate is 1.96 of its own standard deviations
 * away (Wilson's score interval, 1927). The lower end would go up by that, too, and is left where
 * it was, but for what the samples hold, which is there: a sum is only looked at because something
 * of it was sampled, and that is the rarer the smaller it is.
 */
struct sample_interval sample_interval(const struct sample_spread *spread, uint64_t estimate);

#endif
