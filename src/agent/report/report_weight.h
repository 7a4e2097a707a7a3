/* From the table's sums to those of a report. */
#ifndef MALLOW_AGENT_REPORT_REPORT_WEIGHT_H
#define MALLOW_AGENT_REPORT_REPORT_WEIGHT_H

#include <stdint.h>

#include "agent/ground/config.h"
#include "trace/live.h"

/* Of samples the table has calls in parts. */
static inline uint64_t report_calls(uint64_t calls)
{
	return config.value[SETTING_SAMPLE] ? (calls + LIVE_WEIGHT_ONE / 2) / LIVE_WEIGHT_ONE
					    : calls;
}

/* The sums are not of one moment: what is left is never below zero. */
static inline uint64_t report_rest(uint64_t allocated, uint64_t freed)
{
	return allocated > freed ? allocated - freed : 0;
}

#endif
