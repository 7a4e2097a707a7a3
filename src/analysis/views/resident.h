/*
 * Compares the memory that the kernel counts for a process with what the recording explains of it:
 * blocks, what the allocator keeps for them, the program's own mappings, stacks, static data.
 *
 *	resident     ████████████████████████████████████
 *
 *	blocks       ██████████
 *	mapped                 ███████████████
 *	others                                ████
 *	unexplained                               ███████
 *
 * resident: anonymous and shared memory, no pages of files
 * blocks: with what they cost beside their bytes
 * mapped: by the program itself, also by sbrk
 * others: stacks, static data, mappings of libraries
 *
 * Samples of memory say how much is resident, not which pages. So each explained part counts as
 * large as it could be, and the true unexplained rest may be larger than `unexplained`.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_RESIDENT_H
#define MALLOW_ANALYSIS_VIEWS_RESIDENT_H

#include "analysis/views/map_sites.h"

/* A difference counts only above both: so many bytes, and so many percent of what is resident. */
#define RESIDENT_LEAST   (UINT64_C(8) << 20)
#define RESIDENT_PERCENT 10

/* Mappings of less are not worth a line of a summary. */
#define RESIDENT_MAPPED_LEAST (UINT64_C(1) << 20)

/* What a block costs its allocator: a header, and rounding up to the next size or page. */
#define RESIDENT_BLOCK_COST  24
/* From this size on, most blocks have a mapping of their own. */
#define RESIDENT_LARGE_BLOCK (UINT64_C(128) << 10)
#define RESIDENT_LARGE_COST  4096

/*
 * A stack takes so much at most: that of the first thread by its usual limit, the others by what
 * the kernel gives at the first touch if it has huge pages.
 */
#define RESIDENT_FIRST_STACK  (UINT64_C(8) << 20)
#define RESIDENT_THREAD_STACK (UINT64_C(2) << 20)

struct resident {
	bool known;           /* there was a sample, and all of the process's life is recorded */
	uint64_t at_ns;       /* of the sample with the most anonymous and shared memory */
	uint64_t resident;    /* then */
	uint64_t blocks;      /* at most, with what the allocator kept */
	uint64_t mapped;      /* beyond these, in what the program, or an allocator in it, mapped */
	uint64_t unexplained; /* 0: it agrees */
	/*
	 * What the program mapped itself; filled even if `known` is false. Limited to what can have
	 * been resident: of reserved address space that is little, or nothing.
	 */
	struct map_sum own;
};

/*
 * *ret: bytes that were resident beyond the blocks of the recording, if that is more than the
 * blocks took: in the program's own mappings, in a language's heap, or unexplained and not a
 * sanitizer's. 0: most of the memory was seen, or nothing is known.
 */
struct err *resident_unseen(const struct recording *recording, struct symbolized *symbolized,
			    uint64_t *ret);

/* sites: all of the recording's. */
void resident_compare(const struct recording *recording, const struct map_sites *sites,
		      struct resident *ret);

/*
 * The sanitizer whose runtime is loaded: what nothing explains is its shadow, and blocks that it
 * keeps after their free. "": none.
 */
const char *resident_sanitizer(const struct recording *recording);

/*
 * *ret: how much of a process's memory nothing explains. 0: it agrees, or that cannot be told. The
 * only error: no memory.
 */
struct err *resident_unexplained(const struct recording *recording, uint64_t *ret);

#endif
