/*
 * The live table: what a program allocated and has not freed, as sums and as blocks, in chunks of a
 * recording whose header has the flag TRACE_LIVE (docs/trace-format.md, section 10). Such a
 * recording has no events. The agent changes it all the time and readers are not synchronised.
 *
 *   header, offset 256   struct live_header: how many entries of each part there are
 *   chunk of kind 5      struct trace_chunk, then struct live_chunk; from byte 4096 on an array:
 *
 *     nodes    the tree of stacks           entry: struct live_node, by number from 1
 *     sites    sums of one stack            entry: struct live_site, by number from 1
 *     threads  who allocated                entry: struct live_thread, number 0 for all without one
 *     freed    who freed whose              entry: struct live_freed, number freeing * 1024 + owner
 *     heads    of regions of memory         leaves of 256, each of the memory from one address on
 *     cells    what lives in them           entry: 4 words, number from 4
 *     fulls    … in those with many blocks  entry: struct live_full, number from 1
 *
 * Chunks are sparse: most pages of most of them were never touched, and read as zeros.
 */
#ifndef MALLOW_TRACE_LIVE_H
#define MALLOW_TRACE_LIVE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

#define LIVE_HEADER_OFFSET 256
#define LIVE_ARRAY_OFFSET  TRACE_PAGE /* in a chunk */

#define LIVE_SITE_BITS   20
#define LIVE_SITES       (1u << LIVE_SITE_BITS) /* the last 1024 numbers: of blocks on their way */
#define LIVE_NODE_BITS   24
#define LIVE_NODES       (1u << LIVE_NODE_BITS)
#define LIVE_THREAD_BITS 10
#define LIVE_THREADS     (1u << LIVE_THREAD_BITS)

/* In the recording's header. */
struct live_header {
	uint32_t nodes;   /* numbers given, 0 included: entries 1 … nodes - 1 */
	uint32_t sites;   /* the same of sites … */
	uint32_t threads; /* … and threads */
	uint32_t baselines;
	uint64_t base_ticks; /* of the latest baseline, else of the start: what counts is younger */
	/* A late pair of readings, by which ticks become nanoseconds. 0: none yet. */
	uint64_t now_ticks;
	uint64_t now_monotonic_ns;
	/*
	 * The report at the process's end, which a helper makes: whoever else has the table makes
	 * it if that failed, or if nobody is left who could say so.
	 */
	uint32_t last_report; /* enum live_last_report */
	uint32_t keeper;      /* the process that waits for the helper and says what became of it */
};

enum live_last_report {
	LIVE_LAST_REPORT_NONE = 0, /* not begun */
	LIVE_LAST_REPORT_BEGUN = 1,
	LIVE_LAST_REPORT_WRITTEN = 2,
	LIVE_LAST_REPORT_FAILED = 3,
};

/*
 * What is sent to the socket of `mallow live`: one byte beside a descriptor, of the table where
 * nothing else is said.
 */
enum live_message {
	LIVE_MESSAGE_TABLE = 0,     /* a process begins */
	LIVE_MESSAGE_REPORT = 'r',  /* the descriptor is of a report: print it */
	LIVE_MESSAGE_MAKE = 'm',    /* no helper could make a report: make it, … */
	LIVE_MESSAGE_BY_SIZE = 's', /* … in this order … */
	LIVE_MESSAGE_BY_COUNT = 'c',
	LIVE_MESSAGE_LAST = 'l', /* … and that at the process's end */
};

enum live_part {
	LIVE_PART_NODES = 1,
	LIVE_PART_SITES = 2,
	LIVE_PART_THREADS = 3,
	LIVE_PART_FREED = 4,
	LIVE_PART_HEADS = 5,
	LIVE_PART_CELLS = 6,
	LIVE_PART_FULLS = 7,
};

/* Behind the chunk's header, at byte 64. */
struct live_chunk {
	uint32_t part;       /* enum live_part */
	uint32_t entry_size; /* in bytes; of heads that of a leaf */
	uint64_t first;      /* number of the first entry; of heads 0 */
	uint64_t count;      /* entries that there is room for; of heads leaves */
	/*
	 * Of heads: of each leaf where the memory of its regions begins, plus 1 and its map; 0: not
	 * in use yet. Published last.
	 */
	uint64_t leaves[];
};
#define LIVE_CHUNK_OFFSET 64

/* A frame within a stack: the node's parents are the frames outside of it. */
struct live_node {
	uint32_t parent; /* node, 0: this is the outermost frame */
	uint32_t frame;  /* id of a frame record, or LIVE_FRAME_SPECIAL + enum trace_pc */
	uint32_t next;   /* of the agent: in its hash chain */
};
#define LIVE_FRAME_SPECIAL 0x80000000u

/*
 * One stack's sums. Of sampled tables (the header's mean is not 0) calls are in units of
 * 1 / LIVE_WEIGHT_ONE and both are estimates already: each block counts for 1 / its probability.
 *
 * live = allocated - freed, not below 0. A peak is that of the site alone.
 *
 * What threads that count in one stack at the same time have allocated may lie in parts, which are
 * sites of the same node, to be added to the whole, the one that has parts. The peak of all of them
 * is the whole's (site_parts.h says how far it may be too low), or what they have live if that is
 * more.
 *
 * Site 1 is of blocks whose stack is not known. Where it is the only one there are no stacks at all
 * (BACKTRACE=none): its sums are not kept, being those of all threads, and blocks have no times.
 */
struct live_site {
	uint64_t calls, bytes;             /* since the start */
	uint64_t freed_calls, freed_bytes; /* not the blocks of unknown origin */
	uint64_t peak_calls, peak_bytes;
	uint32_t node;  /* live_site_node(), 0: no stack; and flags */
	uint32_t first; /* three times, see live_time_unpack(): of the first allocation, … */
	uint32_t since; /* … the first since nothing of it was live, … */
	uint32_t last;  /* … the latest one */
};
static_assert(sizeof(struct live_site) == 64, "a line of the cache");
#define LIVE_WEIGHT_ONE 65536u

/* In a site's node above LIVE_NODE_BITS, where the six others are the agent's. */
#define LIVE_SITE_PART      (1u << 31) /* its peaks are the agent's, too */
#define LIVE_SITE_HAS_PARTS (1u << 30)

static inline uint32_t live_site_node(const struct live_site *site)
{
	return site->node & (LIVE_NODES - 1);
}

enum live_thread_state {
	LIVE_THREAD_NONE = 0,
	LIVE_THREAD_RUNS = 1,
	LIVE_THREAD_ENDED = 2, /* the next of its name goes on with it */
};

/* What threads of one name allocated, one after the other. */
struct live_thread {
	uint64_t calls, bytes; /* weighted as of sites */
	uint32_t tid;          /* of the latest one */
	uint32_t state;        /* enum live_thread_state */
	char name[16];         /* ended by NUL */
	uint64_t reserved[3];
};
static_assert(sizeof(struct live_thread) == 64, "section 10");

/* What one thread freed of another one's blocks, or of its own. */
struct live_freed {
	uint64_t calls, bytes;
};

/*
 * Blocks hang by where they begin, in maps by their size. A map divides memory into regions, and a
 * head names the first group of cells with what begins in its region, 0: there is none. Groups stay
 * with their region while there are blocks in them, and mostly longer, but full groups and cells of
 * large blocks that are empty may become another's.
 *
 *   map      regions   blocks from
 *   small    1 KiB     0 bytes
 *   large    8 KiB     1 KiB
 *            256 KiB   32 KiB
 *            8 MiB     1 MiB
 */
struct live_map {
	uint8_t region_bits;
	uint8_t size_bits;
};
static const struct live_map live_maps[] = {{10, 0}, {13, 10}, {18, 15}, {23, 20}};
#define LIVE_MAPS       (sizeof(live_maps) / sizeof(live_maps[0]))
#define LIVE_MAP_SMALL  0
#define LIVE_LARGE_MIN  1024u
#define LIVE_LEAF_BITS  8
#define LIVE_LEAF_HEADS (1u << LIVE_LEAF_BITS) /* u32 each */
#define LIVE_LEAF_SIZE  (LIVE_LEAF_HEADS * 4)

/* The bits of an address that tell where in the memory of a leaf it is. */
static inline unsigned int live_leaf_bits(unsigned int map)
{
	return live_maps[map].region_bits + LIVE_LEAF_BITS;
}

static inline unsigned int live_map_of(uint64_t size)
{
	unsigned int map = LIVE_MAP_SMALL;

	while (map + 1 < LIVE_MAPS && size >> live_maps[map + 1].size_bits)
		map++;
	return map;
}

/*
 * A group is 1, 2 or 4 cells, the first of which has a number that is a multiple of that. It is
 * named by that number and its size, in heads and in the group before it:
 *
 *   name     number (26 bits, 0: there is none) | logarithm of the count of cells << 26 (2)
 *
 * The head of a region with many small blocks names a full group (struct live_full) instead, with 3
 * in place of the logarithm, plus 1 << 28 if there may be blocks in the chain behind that, too.
 *
 * With 1 << 29 and 0 in place of the logarithm the group is leaving its region, if it stays empty:
 * in the small map a full one, in others the first of a chain, all of which is leaving.
 *
 * The first word of a group is its header, the others are entries:
 *
 *   header   name of the next group (32) | of the agent: small_blocks.h (32)
 *   entry    start within the region in units of 8 bytes, plus 1 (8) | size << 8 (10) |
 *            time << 18 (16) | thread << 34 (10) | site << 44 (20)                   0: free
 *
 * Each large block has one cell: header, address, state, and size.
 *
 *   state    time (32) | thread << 32 (10) | site << 42 (20)    0: free; below 1 << 32: no block
 *
 * Site and thread together are the block's owner, never 0.
 */
#define LIVE_CELL_WORDS   4u
#define LIVE_CELL_SIZE    (LIVE_CELL_WORDS * 8)
#define LIVE_CELL_BITS    26
#define LIVE_CELLS        (1u << LIVE_CELL_BITS)
#define LIVE_CELL_FIRST   4u
#define LIVE_START_BITS   8
#define LIVE_SIZE_SHIFT   LIVE_START_BITS
#define LIVE_TIME_SHIFT   18
#define LIVE_TIME_BITS    16
#define LIVE_OWNER_SHIFT  34
#define LIVE_LARGE_SHIFT  32 /* of the owner in a state */
#define LIVE_WORD_ADDRESS 1
#define LIVE_WORD_STATE   2
#define LIVE_WORD_SIZE    3

#define LIVE_FULL_LOG     3u
#define LIVE_FULL_NAME    (LIVE_FULL_LOG << LIVE_CELL_BITS)
#define LIVE_FULL_CHAIN   (1u << 28)
#define LIVE_LEAVING      (1u << 29)
#define LIVE_FULLS        (1u << 24)
#define LIVE_FULL_BITS    5 /* of the bytes that an entry is for: one smallest chunk of glibc's */
#define LIVE_FULL_ENTRIES 32u

/* What begins in the region, an entry for each 32 bytes of it, as in cells. */
struct live_full {
	uint32_t chain; /* name of a group, 0: none: with what shares its 32 bytes, or was before */
	uint32_t chained; /* of the agent: a bit for each entry whose 32 bytes had a block there */
	uint64_t entries[LIVE_FULL_ENTRIES];
};
static_assert(LIVE_FULL_ENTRIES << LIVE_FULL_BITS == 1u << 10, "a region of the small map");

static inline uint32_t live_group_name(uint32_t number, unsigned int log)
{
	return number | log << LIVE_CELL_BITS;
}

static inline uint32_t live_group_number(uint32_t name)
{
	return name & (LIVE_CELLS - 1);
}

static inline bool live_group_is_full(uint32_t name)
{
	return (name & LIVE_FULL_NAME) == LIVE_FULL_NAME;
}

/* Whether it is that of cells, neither full nor leaving; or 0. */
static inline bool live_group_is_chain(uint32_t name)
{
	return name < LIVE_FULL_NAME;
}

/* The name of one that was leaving its region, and stays. */
static inline uint32_t live_group_staying(uint32_t name, unsigned int map)
{
	return (name & ~LIVE_LEAVING) | (map == LIVE_MAP_SMALL ? LIVE_FULL_NAME : 0);
}

/* Of a chain. */
static inline unsigned int live_group_cells(uint32_t name)
{
	return 1u << (name >> LIVE_CELL_BITS & 3);
}

/*
 * Times are ticks since the recording's start as a small floating number of so many bits: the lower
 * 5 are an exponent e, the others m, and m << e is the time in units of 1024 ticks. 0: none known,
 * or the very start. All that is later than the largest number is that (of 16 bits: 2^52 ticks).
 */
static inline uint32_t live_time_pack(uint64_t ticks, unsigned int bits)
{
	uint64_t units = ticks >> 10;
	unsigned int mantissa = bits - 5, exponent = 0;

	if (units >> mantissa)
		exponent = 64 - mantissa - (unsigned int)__builtin_clzll(units);
	if (exponent > 31)
		return ((1u << mantissa) - 1) << 5 | 31;
	return (uint32_t)(units >> exponent) << 5 | exponent;
}

static inline uint64_t live_time_unpack(uint32_t time)
{
	return (uint64_t)(time >> 5) << (time & 31) << 10;
}

#endif
