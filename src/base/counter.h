/*
 * The processor's counter of time, as recordings have it (TRACE_CLOCK_TSC). One file per
 * architecture, in the folder of Meson's name for it:
 *
 *   counter_read()   reads it; the processor may do so ahead of earlier loads
 */
#ifndef MALLOW_BASE_COUNTER_H
#define MALLOW_BASE_COUNTER_H

/* clang-format off */
#define COUNTER_FILE(file) <base/MALLOW_CPU/file>
/* clang-format on */

#include COUNTER_FILE(counter.h)

#endif
