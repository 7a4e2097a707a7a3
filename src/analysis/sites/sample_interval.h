/*
 * How far an estimate made from sampled blocks may be off.
 *
 * A block that was sampled with probability p counts 1 / p times (sample_weight.h): for itself, and
 * for (1 - p) / p blocks that were not sampled. Each block is sampled independently. So the
 * variance of a sum of amounts y is estimated by the sum of y^2 (1 - p) / p^2 over the samples.
 */
#ifndef MALLOW_ANALYSIS_SITES_SAMPLE_INTERVAL_H
#define MALLOW_ANALYSIS_SITES_SAMPLE_INTERVAL_H

#include <stdint.h>

/* Sums over the samples of one estimate. Zeroed: no samples yet. */
struct sample_spread {
	double held;     /* the amounts of the samples themselves */
	double variance; /* of the estimate */
	double lean;     /* sum over samples: its part of the variance, times what it stands for */
};

/*
 * Adds a sampled block of size bytes. amount: what it adds to the sum: its bytes, or 1. mean: the
 * header's sample_mean, not 0.
 */
void sample_spread_add(struct sample_spread *spread, uint64_t mean, uint64_t size, uint64_t amount);

/* An interval of whole numbers, with both ends in it: low <= estimate <= high. */
struct sample_interval {
	uint64_t low, high;
};

/*
 * The interval of an estimate. In at least 95 of 100 samples of the same blocks the true sum is in
 * it.
 *
 * With many samples each end is 1.96 standard deviations from the estimate. With few samples that
 * is wrong: a sample that is too small by chance gives an estimate that is too small and a variance
 * that is too small. If the true sum is higher by d, its variance is higher by about d * lean /
 * variance. So the upper end is the sum from which the estimate is 1.96 of that sum's own standard
 * deviations away (Wilson's score interval, 1927). By the same reasoning the lower end would be
 * higher, but it stays where it was, and is at least what the samples hold: a sum is only looked at
 * if something of it was sampled, and that is rarer for smaller sums.
 */
struct sample_interval sample_interval(const struct sample_spread *spread, uint64_t estimate);

#endif
