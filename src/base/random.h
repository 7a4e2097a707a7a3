/*
 * The pseudorandom generator SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014).
 */
#ifndef MALLOW_BASE_RANDOM_H
#define MALLOW_BASE_RANDOM_H

#include <stdint.h>

/* What is added to the generator's state for each number. */
#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* A hash: it is one to one, and numbers that differ in one bit come out looking unrelated. */
static inline uint64_t random_mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

/* The next number. The state may begin with any value. */
static inline uint64_t random_next(uint64_t *state)
{
	return random_mix(*state += RANDOM_STEP);
}

#endif
