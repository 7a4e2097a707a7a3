/* The ways in which the kernel sets probes, the cheapest first. */
#ifndef MALLOW_EBPF_PROBE_WAY_H
#define MALLOW_EBPF_PROBE_WAY_H

enum probe_way {
	PROBE_SESSION, /* one probe for entry and return; since Linux 6.13 */
	PROBE_MULTI,   /* many probes by one call; since 6.6 */
	PROBE_PERF,    /* a perf event for each; needs root */
};

/* As options and messages name it. */
const char *probe_way_name(enum probe_way way);

#endif
