/*
 * The live table: what a program allocated and has not freed, as sums and as blocks. It lies in
 * chunks of a recording whose header has the flag TRACE_LIVE (docs/trace-format.md, section 10),
 * and which has no events. The agent changes the table all the time; readers take no lock.
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
 *     blocks   in place of the last three   entry: struct live_listed_block, in no order
 *
 * Chunks are sparse: most of their pages were never written, and read as zeros.
 */
#ifndef MALLOW_TRACE_LIVE_H
#define MALLOW_TRACE_LIVE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/format.h"

#define LIVE_HEADER_OFFSET 256
#define LIVE_ARRAY_OFFSET  TRACE_PAGE /* in a chunk */

#define LIVE_SITE_BITS   20
#define LIVE_SITES       (1u << LIVE_SITE_BITS) /* the last 1024: blocks not settled yet */
#define LIVE_NODE_BITS   24
#define LIVE_NODES       (1u << LIVE_NODE_BITS)
#define LIVE_THREAD_BITS 10
#define LIVE_THREADS     (1u << LIVE_THREAD_BITS)

/* In the recording's header. */
struct live_header {
	uint32_t nodes;   /* how many numbers are given: entries 1 … nodes - 1 */
	uint32_t sites;   /* the same for sites … */
	uint32_t threads; /* … and threads */
	uint32_t baselines;
	/* Of the latest baseline, else of the start: only what came later is in the table. */
	uint64_t base_ticks;
	/*
	 * A late pair of readings of both clocks, by which ticks become nanoseconds. 0: none yet.
	 */
	uint64_t now_ticks;
	uint64_t now_monotonic_ns;
	/*
	 * A helper makes the report at the process's end. If the helper failed, or if the keeper
	 * that would say so is gone, another process that has the table makes the report.
	 */
	uint32_t last_report; /* enum live_last_report */
	uint32_t keeper;      /* waits for the helper and sets last_report; 0: none */
};

enum live_last_report {
	LIVE_LAST_REPORT_NONE = 0, /* not begun */
	LIVE_LAST_REPORT_BEGUN = 1,
	LIVE_LAST_REPORT_WRITTEN = 2,
	LIVE_LAST_REPORT_FAILED = 3,
};

enum live_part {
	LIVE_PART_NODES = 1,
	LIVE_PART_SITES = 2,
	LIVE_PART_THREADS = 3,
	LIVE_PART_FREED = 4,
	LIVE_PART_HEADS = 5,
	LIVE_PART_CELLS = 6,
	LIVE_PART_FULLS = 7,
	LIVE_PART_BLOCKS = 8,
};

/* Behind the chunk's header, at byte 64. */
struct live_chunk {
	uint32_t part;       /* enum live_part */
	uint32_t entry_size; /* in bytes; of heads: of a leaf */
	uint64_t first;      /* number of the first entry; of heads: 0 */
	uint64_t count;      /* entries that there is room for; of heads: leaves */
	/*
	 * Of heads, a word for each leaf: the address at which the leaf's memory begins, plus its
	 * map, plus 1. 0: the leaf is not in use yet. This word is written last.
	 *
	 * Of other parts leaves[0] is where in the chunk the entries begin; 0: LIVE_ARRAY_OFFSET.
	 */
	uint64_t leaves[];
};
#define LIVE_CHUNK_OFFSET 64

/*
 * In the chunk's header, at byte 32, in place of the fields that only events need (section 10.2). A
 * reader of a core dump finds chunks in any order, and puts them together by these fields.
 */
struct live_place {
	uint64_t offset;            /* of the chunk in the file */
	uint64_t address;           /* of the chunk in the writer's memory */
	uint8_t id[TRACE_PLACE_ID]; /* of the recording, the first bytes */
	uint64_t checksum;          /* live_place_checksum() */
};
#define LIVE_PLACE_OFFSET 32

/*
 * Where in a chunk a copy of the begin of the recording's header is, up to the losses: in chunks
 * whose entries begin at LIVE_ARRAY_OFFSET, but not in heads. 0: no copy (section 10.2).
 */
#define LIVE_COPY_OFFSET 128
#define LIVE_COPY_SIZE   offsetof(struct trace_header, losses)

/* A block of LIVE_PART_BLOCKS. */
struct live_listed_block {
	uint64_t address;
	uint64_t state; /* as in cells of large blocks (below); 0: free */
	uint64_t size;
};
static_assert(sizeof(struct live_listed_block) == 24, "section 10");

/* A frame within a stack. The parent of a node is the next frame outwards. */
struct live_node {
	uint32_t parent; /* node, 0: this is the outermost frame */
	uint32_t frame;  /* id of a frame record, or LIVE_FRAME_SPECIAL + enum trace_pc */
	uint32_t next;   /* the agent's: the next node of its hash chain */
};
#define LIVE_FRAME_SPECIAL 0x80000000u

/*
 * The sums of one stack. In a sampled table (the header's sample_mean is not 0) all sums are
 * estimates: each block counts as 1 / its probability, and calls are in units of 1 /
 * LIVE_WEIGHT_ONE.
 *
 * live = allocated - freed, not below 0. Peaks are the site's own, whenever they were.
 *
 * A site may be split: threads that would wait for each other at its sums count in parts, other
 * sites with the same node. The site with LIVE_SITE_HAS_PARTS is called the whole: readers add the
 * sums of the parts to its own. Its peak is that of the whole and all parts together (site_parts.h
 * says by how much it may be too low). If together they have more live now, that is the peak.
 *
 * Site 1 holds blocks whose stack is not known. If it is the only site, no stacks are recorded
 * (BACKTRACE=none): its sums are not kept, because they are the sums of all threads, and blocks
 * have no times.
 */
struct live_site {
	uint64_t calls, bytes;             /* since the start */
	uint64_t freed_calls, freed_bytes; /* without blocks of unknown origin */
	uint64_t peak_calls, peak_bytes;
	uint32_t node;  /* live_site_node(), 0: no stack; and flags */
	uint32_t first; /* three times (live_time_unpack()): of the first allocation, … */
	uint32_t since; /* … the first since nothing of it was live, … */
	uint32_t last;  /* … the latest one */
};
static_assert(sizeof(struct live_site) == 64, "a line of the cache");
#define LIVE_WEIGHT_ONE 65536u

/* Flags in a site's node, above LIVE_NODE_BITS. The six other bits are the agent's. */
#define LIVE_SITE_PART      (1u << 31) /* a part; its peaks are for the agent alone */
#define LIVE_SITE_HAS_PARTS (1u << 30)

static inline uint32_t live_site_node(const struct live_site *site)
{
	return site->node & (LIVE_NODES - 1);
}

enum live_thread_state {
	LIVE_THREAD_NONE = 0,
	LIVE_THREAD_RUNS = 1,
	LIVE_THREAD_ENDED = 2, /* the next thread of this name continues the entry */
};

/* What a thread allocated, and after its end the next threads of the same name. */
struct live_thread {
	uint64_t calls, bytes; /* weighted as in sites */
	uint32_t tid;          /* of the latest one */
	uint32_t state;        /* enum live_thread_state */
	char name[16];         /* ended by NUL */
	uint64_t reserved[3];
};
static_assert(sizeof(struct live_thread) == 64, "section 10");

/* What one thread freed of another thread's blocks, or of its own. */
struct live_freed {
	uint64_t calls, bytes;
};

/*
 * Blocks are found by where they begin. There are four maps, by the size of the blocks. Each map
 * divides memory into regions. A region's head names the first group of cells with the blocks that
 * begin in the region; 0: there are none. A group stays with its region while there are blocks in
 * it, and mostly longer. Full groups and cells of large blocks may go to another region once they
 * are empty.
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
#define LIVE_MAPS       (ARRAY_COUNT(live_maps))
#define LIVE_MAP_SMALL  0
#define LIVE_LARGE_MIN  1024u
#define LIVE_LEAF_BITS  8
#define LIVE_LEAF_HEADS (1u << LIVE_LEAF_BITS) /* u32 each */
#define LIVE_LEAF_SIZE  (LIVE_LEAF_HEADS * 4)

/* How many low bits of an address say where it is within the memory of its leaf. */
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
 * A group is 1, 2 or 4 cells, one after the other. The number of its first cell is a multiple of
 * its count of cells. Heads, and the group before it in the chain, name it by that number and its
 * count:
 *
 *   name     number (26 bits, 0: there is none) | logarithm of the count of cells << 26 (2)
 *
 * The head of a region with many small blocks names a full group (struct live_full) instead: 3 in
 * place of the logarithm, plus 1 << 28 if there may be blocks in the chain behind the full group.
 *
 * A group without blocks may be leaving its region: then its name has 1 << 29, and 0 in place of
 * the logarithm. If nobody puts a block into it meanwhile, it leaves. In the small map it is a full
 * group; in the others it is the first group of a chain, all of which is leaving.
 *
 * The first word of a group is its header, the others are entries:
 *
 *   header   name of the next group (32) | of the agent: small_blocks.h (32)
 *   entry    start within the region in units of 8 bytes, plus 1 (8) | size << 8 (10) |
 *            time << 18 (16) | thread << 34 (10) | site << 44 (20)                   0: free
 *
 * Each large block has a cell of its own: header, address, state, and size.
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
#define LIVE_LARGE_SHIFT  32 /* where the owner stands in a state */
#define LIVE_WORD_ADDRESS 1
#define LIVE_WORD_STATE   2
#define LIVE_WORD_SIZE    3

#define LIVE_FULL_LOG     3u
#define LIVE_FULL_NAME    (LIVE_FULL_LOG << LIVE_CELL_BITS)
#define LIVE_FULL_CHAIN   (1u << 28)
#define LIVE_LEAVING      (1u << 29)
#define LIVE_FULLS        (1u << 24)
#define LIVE_FULL_BITS    5 /* an entry is for 32 bytes: the smallest chunk of glibc's */
#define LIVE_FULL_ENTRIES 32u

/* All that begins in a region: an entry, as in cells, for each 32 bytes of it. */
struct live_full {
	uint32_t chain; /* name of a group, 0: none: blocks older than this, or without an entry */
	uint32_t chained; /* the agent's: a bit for each entry that has had a block in the chain */
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

/* Whether the name is 0 or that of cells, neither a full group's nor leaving. */
static inline bool live_group_is_chain(uint32_t name)
{
	return name < LIVE_FULL_NAME;
}

/* The name of a group that was leaving its region, and stays after all. */
static inline uint32_t live_group_staying(uint32_t name, unsigned int map)
{
	return (name & ~LIVE_LEAVING) | (map == LIVE_MAP_SMALL ? LIVE_FULL_NAME : 0);
}

/* How many cells a group has; name: that of a group of cells, not of a full group. */
static inline unsigned int live_group_cells(uint32_t name)
{
	return 1u << (name >> LIVE_CELL_BITS & 3);
}

/*
 * A time is ticks since the recording's start, as a small floating point number of `bits` bits: the
 * lower 5 are an exponent e, the others a mantissa m, and the time is m << e in units of 1024
 * ticks. 0: not known, or the very start. Times beyond the largest number become that number (with
 * 16 bits: 2^52 ticks).
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
