/* Shares of a whole, as thresholds of findings are said. */
#ifndef MALLOW_ANALYSIS_FINDINGS_PERCENT_H
#define MALLOW_ANALYSIS_FINDINGS_PERCENT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether part is at least so many percent of whole; 0 of 0 is. */
static inline bool is_percent(uint64_t part, uint64_t whole, unsigned int percent)
{
	return (double)part * 100 >= (double)whole * percent;
}

#endif
