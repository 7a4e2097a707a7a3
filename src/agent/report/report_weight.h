/* Turns the table's sums into those of a report. */
#ifndef MALLOW_AGENT_REPORT_REPORT_WEIGHT_H
#define MALLOW_AGENT_REPORT_REPORT_WEIGHT_H

#include <stdint.h>

#include "agent/ground/config.h"
#include "trace/live.h"

/* The number of calls. With samples the table counts in units of 1 / LIVE_WEIGHT_ONE. */
static inline uint64_t report_calls(uint64_t calls)
{
	return config.value[SETTING_SAMPLE] ? (calls + LIVE_WEIGHT_ONE / 2) / LIVE_WEIGHT_ONE
					    : calls;
}

/* What is live: allocated minus freed, never below zero, since the two are not of one moment. */
static inline uint64_t report_rest(uint64_t allocated, uint64_t freed)
{
	return allocated > freed ? allocated - freed : 0;
}

#endif
