/*
 * What a sampled block stands for. A block of size bytes was recorded with the probability
 * p = 1 - exp(-size / mean) (docs/trace-format.md, section 2), so it stands for 1 / p blocks of its
 * kind: sums of these are estimates without a bias (Horvitz and Thompson, 1952).
 */
#ifndef MALLOW_ANALYSIS_SITES_SAMPLE_WEIGHT_H
#define MALLOW_ANALYSIS_SITES_SAMPLE_WEIGHT_H

#include <stdint.h>

/*
 * 1 / p as a whole number, at least 1: the next lower or the next higher one, so often that their
 * mean is 1 / p. By chance, but always the same for a block: number is its own, from 1. mean: not
 * 0.
 */
uint64_t sample_weight(uint64_t mean, uint64_t size, uint64_t number);

#endif
