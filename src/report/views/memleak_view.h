/* What a report of outstanding allocations shows: stacks, with what each has allocated and not
 * freed. */
#ifndef MALLOW_REPORT_VIEWS_MEMLEAK_VIEW_H
#define MALLOW_REPORT_VIEWS_MEMLEAK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct memleak_frame {
	uint64_t address;
	const char *function; /* NULL: unknown */
	uint64_t offset;      /* of the address in the function */
	const char *module;   /* a file's name; NULL: in no file */
	const char *file;     /* in the source; NULL: unknown */
	uint32_t line;
	bool inlined; /* into the next frame's function: it has no address of its own */
};

struct memleak_stack {
	uint64_t bytes, blocks;
	const char *cut;   /* why its outer frames are missing; NULL: it is whole */
	const char *cache; /* of the kernel's, that the blocks are in; NULL: in none, or unknown */
	const char *doubt; /* why its numbers are too high; NULL: they are not */
	bool lost;         /* it has no frames, as there was no room for it */
	size_t first_frame, frame_count; /* of view->frames, innermost first */
};

struct memleak_block {
	uint64_t address, size;
};

/* Pages of one use that are not among the stacks. */
struct memleak_pages {
	const char *name; /* in JSON */
	const char *text;
	uint64_t bytes, pages;
};

/* A cache of the kernel that has fewer objects than are counted. */
struct memleak_cache {
	const char *name;
	uint64_t outstanding;
	int64_t grew;
};

struct memleak_view {
	struct tm time;
	const struct memleak_frame *frames;
	const struct memleak_stack *stacks; /* those that are shown; the largest first */
	size_t stack_count;
	const struct memleak_block *blocks; /* to be listed; smallest first */
	size_t block_count;

	uint32_t pid;
	const char *name;               /* of the process */
	const char *process;            /* "pid 123 (server)" if there are several; else NULL */
	bool ended;                     /* the process is over */
	bool no_stacks;                 /* none were asked for */
	uint64_t all_stacks;            /* with those that are not shown … */
	uint64_t all_whole;             /* … of which so many are whole */
	uint64_t all_bytes, all_blocks; /* of all stacks */
	uint64_t young;                 /* blocks left out because they are younger than … */
	uint64_t older_ms;              /* … this */
	uint64_t sample_rate;           /* numbers are estimates from one allocation in so many */
	bool kernel; /* the kernel's memory: pid 0, and the following may be there */
	const struct memleak_pages *pages; /* largest first */
	size_t page_count;
	const struct memleak_cache *caches;
	size_t cache_count;
	uint64_t gone;               /* blocks left out: they are freed, though no free was seen */
	const char *const *warnings; /* what was lost, a sentence each */
	size_t warning_count;
};

struct memleak_style {
	bool addresses; /* of each frame, and whole paths of sources */
};

#endif
