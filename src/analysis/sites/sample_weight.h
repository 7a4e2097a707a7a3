/*
 * How many blocks a sampled block stands for. A block of size bytes is recorded with probability p
 * = 1 - exp(-size / mean) (docs/trace-format.md, section 2). So it stands for 1 / p blocks like it,
 * and sums of these are unbiased estimates (Horvitz and Thompson, 1952).
 */
#ifndef MALLOW_ANALYSIS_SITES_SAMPLE_WEIGHT_H
#define MALLOW_ANALYSIS_SITES_SAMPLE_WEIGHT_H

#include <stdint.h>

/*
 * 1 / p rounded up or down by chance, so that the mean is 1 / p; at least 1. A block always gets
 * the same result. number: the block's, from 1. mean: not 0.
 */
uint64_t sample_weight(uint64_t mean, uint64_t size, uint64_t number);

#endif
