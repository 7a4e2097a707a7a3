/*
 * USDT=1: the probes otel_memory:alloc(address, size, weighted bytes) and
 * otel_memory:free(address), which OpenTelemetry's eBPF profiler waits for. They are hit for
 * samples alone, of any allocator that the agent sees. A probe is an instruction that does nothing,
 * and a note of where it is and where its arguments are (SystemTap's sys/sdt.h): whoever wants to
 * know puts a breakpoint there.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_PROBE_H
#define MALLOW_AGENT_LIVE_LIVE_PROBE_H

#include <stdint.h>

#include "agent/ground/config.h"
#include "base/compiler.h"

void live_probe_begin_slow(uint64_t address, uint64_t size);
void live_probe_end_slow(uint64_t address);

/* A sampled block begins, or ends. Any thread, async-signal-safe. */
static inline void live_probe_begin(uint64_t address, uint64_t size)
{
	if (unlikely(config.value[SETTING_USDT]))
		live_probe_begin_slow(address, size);
}

static inline void live_probe_end(uint64_t address)
{
	if (unlikely(config.value[SETTING_USDT]))
		live_probe_end_slow(address);
}

#endif
