/*
 * The modules met so far, where the loader has no index of its own: reading /proc/self/maps for
 * each of thousands of rules would take seconds. Readers never wait; a writer that meets another
 * one leaves its find out.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_CACHE_H
#define MALLOW_AGENT_UNWIND_MODULE_CACHE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A module's place in memory. All zero: none. */
struct module_place {
	uint64_t start, end; /* of the whole module; others may lie between those of the program */
	uint64_t bias;
	uint64_t eh_frame_hdr;
	const ElfW(Phdr) * headers; /* NULL: not known */
	unsigned header_count;
	const struct link_map *link_map; /* NULL where the loader was not asked */
};

/* link_map of what is found is NULL. */
bool module_cache_find(uint64_t address, struct module_place *ret);
/* Of a module without holes. */
void module_cache_insert(const struct module_place *place);

/* Whatever lies in [start, end) is gone. Not from a signal handler. */
void module_cache_forget(uint64_t start, uint64_t end);

/* In a forked child, where the thread that was writing does not exist. */
void module_cache_after_fork(void);

#endif
