/*
 * What there is a single instruction for, or what compilers have no word for. One file per
 * architecture:
 *
 *   arch_pause()                 somebody else is to go on: in a loop that waits
 *   arch_counter_is_steady()     whether there is a counter of time that runs at one rate
 *   arch_counter()               reads it; perhaps ahead of loads that come before
 *   arch_wait_for_loads()        what is read next is not read before what was loaded until now
 *   arch_copy(), arch_fill()     memory, without a call
 *   arch_add(), arch_fetch_add(), arch_exchange_if()
 *                                as __atomic_… where no other thread comes in between: an
 *                                interruption comes before or behind them
 */
#ifndef MALLOW_AGENT_ARCH_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_INSTRUCTIONS_H

#if defined(__x86_64__)
#include "agent/arch/x86_64/instructions.h"
#else
#error "no instructions for this architecture"
#endif

#endif
