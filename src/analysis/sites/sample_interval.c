#include "analysis/sites/sample_interval.h"

#include <math.h>

#define DEVIATIONS 1.959964 /* on each side of the mean: 95 % of a normal distribution */

void sample_spread_add(struct sample_spread *spread, uint64_t mean, uint64_t size, uint64_t amount)
{
	double bytes = size ? (double)size : 1, own = (double)amount;
	double others = 1 / expm1(bytes / (double)mean); // (1 - p) / p
	double variance = own * own * others * (1 + others);

	spread->held += own;
	spread->variance += variance;
	spread->lean += variance * own * others;
}

/* Rounds a sum. In a damaged file it may be any number. */
static uint64_t whole(double sum)
{
	return sum < 0x1p64 ? (uint64_t)sum : UINT64_MAX;
}

struct sample_interval sample_interval(const struct sample_spread *spread, uint64_t estimate)
{
	double middle = (double)estimate, deviation = sqrt(spread->variance);
	double lean = spread->variance > 0 ? spread->lean / spread->variance : 0;
	double lift = DEVIATIONS * lean / 2;
	double low = fmax(middle - DEVIATIONS * deviation, spread->held);
	double high = middle + DEVIATIONS * (lift + hypot(deviation, lift));

	return (struct sample_interval){
		.low = low < middle ? whole(ceil(low)) : estimate,
		.high = high > middle ? whole(high) : estimate,
	};
}
