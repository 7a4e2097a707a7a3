/*
 * What the program's own mappings come to: sums by the stack that made them and by their kind, as
 * sites are sums of blocks. Memory is what the program maps instead of calling malloc: anonymous,
 * writable, by a call of its own.
 *
 *	recording_mappings() ──► map_lives ──► map_sites
 */
#ifndef MALLOW_ANALYSIS_VIEWS_MAP_SITES_H
#define MALLOW_ANALYSIS_VIEWS_MAP_SITES_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/views/map_lives.h"

enum map_kind {
#define MAP_KIND(NAME, name, text) MAP_KIND_##NAME,
#include "analysis/views/map_kinds.def"
#undef MAP_KIND
	MAP_KINDS,
};

/* "memory", and the same in a sentence. */
const char *map_kind_name(enum map_kind kind);
const char *map_kind_text(enum map_kind kind);

/* The sums of all mappings of a kind. */
struct map_sum {
	uint64_t bytes, mappings;  /* that were made */
	uint64_t peak_bytes;       /* that were mapped at once, at most */
	uint64_t left_bytes, left; /* that are mapped at the end; mappings of which some is */
};

/* Zeroed: none. */
struct map_sites {
	/*
	 * As of blocks: peak is the site's own, leaked is what is mapped at the end, calls are
	 * mappings. In the order of the first mapping.
	 */
	struct site *sites;
	enum map_kind *kinds; /* of each site */
	uint32_t count;
	struct map_sum of[MAP_KINDS];
	/* The allocator that made the mappings of MAP_KIND_ALLOCATOR; NULL: not known. */
	const char *allocator;
};

/*
 * match: which of lives count (filter_maps()); NULL: all. symbolized NULL: allocators and libraries
 * are not told from the program.
 */
struct err *map_sites_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct map_lives *lives, const struct filter_match *match,
			     struct map_sites *ret);
/* The same of all mappings. */
struct err *map_sites_create_all(const struct recording *recording, struct symbolized *symbolized,
				 struct map_sites *ret);
void map_sites_deinit(struct map_sites *sites);

#endif
