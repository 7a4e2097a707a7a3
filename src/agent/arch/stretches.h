/*
 * Where the agent's memory lies (ground/own_place.h). One file per architecture:
 *
 *   ARCH_STRETCH_NEAR, _FAR, _SIZE   two stretches of the address space, of which a process uses
 * one ARCH_STRETCH_DISTANCE            between the end of the heap and the near one, at least
 *
 * docs/RELIABILITY.md ("Where the agent's memory lies") lists what else takes addresses by
 * MAP_FIXED: a stretch must avoid all of it.
 */
#ifndef MALLOW_AGENT_ARCH_STRETCHES_H
#define MALLOW_AGENT_ARCH_STRETCHES_H

#include "agent/arch/cpu.h"

#include ARCH_FILE(stretches.h)

#endif
