/*
 * The modules met so far, for C libraries without dl_find_object(). Otherwise /proc/self/maps would
 * be read for each of thousands of rules, which takes seconds. Readers never wait. A writer that
 * finds the lock taken does not add its module.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_CACHE_H
#define MALLOW_AGENT_UNWIND_MODULE_CACHE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A module's place in memory. All zero: none. */
struct module_place {
	uint64_t start, end; /* of the whole module; others may lie in between */
	uint64_t bias;
	uint64_t eh_frame_hdr;
	const ElfW(Phdr) * headers; /* NULL: not known */
	unsigned header_count;
	const struct link_map *link_map; /* NULL where the loader was not asked */
};

/* ret->link_map is NULL. */
bool module_cache_find(uint64_t address, struct module_place *ret);
/* For a module without holes between its segments. */
void module_cache_insert(const struct module_place *place);

/* Forgets the modules that begin in [start, end). Not from a signal handler. */
void module_cache_forget(uint64_t start, uint64_t end);

/* In a forked child: frees the lock, whose holder does not exist there. */
void module_cache_after_fork(void);

#endif
