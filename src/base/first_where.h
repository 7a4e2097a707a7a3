/* Binary search, for any list and any question about its items. */
#ifndef MALLOW_BASE_FIRST_WHERE_H
#define MALLOW_BASE_FIRST_WHERE_H

/*
 * The first `i` of first … end - 1 for which the condition, an expression in `i`, is true; end (or
 * first, if that is greater): there is none. In the order of the list the condition is false up to
 * some item, and true from there on.
 *
 *	at = first_where(i, 0, count, spans[i].end > address);
 *
 * Each use is compiled as a loop of its own, as fast as one written by hand.
 */
#define first_where(i, first, end, condition)                                                      \
	({                                                                                         \
		__typeof__((end) + 0) low_ = (first), high_ = (end);                               \
		while (low_ < high_) {                                                             \
			__typeof__((end) + 0) i = low_ + (high_ - low_) / 2;                       \
			if (condition)                                                             \
				high_ = i;                                                         \
			else                                                                       \
				low_ = i + 1;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
