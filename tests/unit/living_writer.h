/*
 * For tests that link with --wrap=load_writer_alive,--wrap=tick_clock_now,--wrap=nanosleep: the
 * process of any recording lives, and the present time is what the test says.
 */
#ifndef MALLOW_TESTS_LIVING_WRITER_H
#define MALLOW_TESTS_LIVING_WRITER_H

#include <stdint.h>

extern uint64_t living_writer_ticks;     /* the present time in ticks of the recording */
extern unsigned int living_writer_waits; /* how often somebody waited; no time passes then */

#endif
