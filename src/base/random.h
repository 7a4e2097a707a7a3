/* "SplitMix64" (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
#ifndef MALLOW_BASE_RANDOM_H
#define MALLOW_BASE_RANDOM_H

#include <stdint.h>

/* From one state of the generator to the next. */
#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* One to one: numbers that differ in any bit become numbers that look unrelated. */
static inline uint64_t random_mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

/* Any start will do. */
static inline uint64_t random_next(uint64_t *state)
{
	return random_mix(*state += RANDOM_STEP);
}

#endif
