/*
 * Numbers of 128 bits, for products of two of 64: compilers for machines with words of 32 bits have
 * no type for them.
 */
#ifndef MALLOW_BASE_WIDE_H
#define MALLOW_BASE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* WIDE_BY_HAND: also where there is one, to compare both. */
#if defined(__SIZEOF_INT128__) && !defined(WIDE_BY_HAND)
#define WIDE_BY_COMPILER
#endif

struct wide {
	uint64_t high, low;
};

static inline struct wide wide_product(uint64_t a, uint64_t b)
{
#ifdef WIDE_BY_COMPILER
	unsigned __int128 product = (unsigned __int128)a * b;

	return (struct wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);

	return (struct wide){(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32),
			     other << 32 | (low & UINT32_MAX)};
#endif
}

/* Bits beyond 128 are dropped, as everywhere here. */
static inline struct wide wide_times(struct wide a, uint64_t b)
{
	struct wide product = wide_product(a.low, b);

	product.high += a.high * b;
	return product;
}

static inline struct wide wide_sum(struct wide a, struct wide b)
{
	struct wide sum = {a.high + b.high, a.low + b.low};

	sum.high += sum.low < a.low;
	return sum;
}

static inline bool wide_less(struct wide a, struct wide b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* a * b / c, rounded down, to *ret. c is not 0. false: it needs more than 64 bits. */
static inline bool wide_scale(uint64_t a, uint64_t b, uint64_t c, uint64_t *ret)
{
	struct wide product = wide_product(a, b);

	if (product.high >= c)
		return false;
#ifdef WIDE_BY_COMPILER
	*ret = (uint64_t)(((unsigned __int128)product.high << 64 | product.low) / c);
#else
	uint64_t rest = product.high, quotient = 0;

	for (int bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (product.low >> bit & 1);
		if (carry || rest >= c) {
			rest -= c;
			quotient |= UINT64_C(1) << bit;
		}
	}
	*ret = quotient;
#endif
	return true;
}

#endif
