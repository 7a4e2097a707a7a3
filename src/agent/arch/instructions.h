/*
 * Single instructions, and what compilers have no word for. One file per architecture:
 *
 *   arch_pause()                 for a loop that waits: lets the core's other thread run
 *   arch_counter_is_steady()     whether base/counter.h's runs at one rate and may be read
 *   arch_wait_for_loads()        waits for earlier loads before the next instruction
 *   arch_copy(), arch_fill()     memory, without a call
 *   arch_add(), arch_fetch_add(), arch_exchange_if()
 *                                like __atomic_… while no other thread comes in between: a signal
 *                                handler runs before or after them
 */
#ifndef MALLOW_AGENT_ARCH_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_INSTRUCTIONS_H

#include "agent/arch/cpu.h"

#include ARCH_FILE(instructions.h)

#endif
