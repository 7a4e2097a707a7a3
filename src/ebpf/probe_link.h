/*
 * Sets the probes of a target in its modules' files, for that process alone: other processes that
 * run the same code pay nothing.
 */
#ifndef MALLOW_EBPF_PROBE_LINK_H
#define MALLOW_EBPF_PROBE_LINK_H

#include <bpf/libbpf.h>

#include "ebpf/hooks/hook_find.h"
#include "ebpf/probe_way.h"

/* The programs that are attached. Their expected attach type is set before they are loaded. */
struct probe_programs {
	struct bpf_program *session, *entry, *ret, *exit, *release;
};

/* Says for which way the programs are to be loaded: attach types, and which of them are needed. */
void probe_programs_prepare(const struct probe_programs *programs, enum probe_way way);

/* Zeroed: none. */
struct probe_links {
	VEC(int) multi; /* descriptors of links */
	VEC(struct bpf_link *) perf;
};

/*
 * Sets the probes of hooks from index `first` on. On failure some may be set; probe_links_deinit()
 * removes all.
 */
struct err *probe_links_add(struct probe_links *links, const struct probe_programs *programs,
			    enum probe_way way, const struct target *target,
			    const struct hooks *hooks, size_t first);
void probe_links_deinit(struct probe_links *links);

#endif
