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
 *     blocks   pieces of 1 MiB, each the shadow of a part of the address space
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

#define LIVE_SITE_BITS   22
#define LIVE_SITES       (1u << LIVE_SITE_BITS) /* the last 1024 numbers: of blocks on their way */
#define LIVE_NODES       (1u << 24)
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
};

enum live_part {
	LIVE_PART_NODES = 1,
	LIVE_PART_SITES = 2,
	LIVE_PART_THREADS = 3,
	LIVE_PART_FREED = 4,
	LIVE_PART_BLOCKS = 5,
};

/* Behind the chunk's header, at byte 64. */
struct live_chunk {
	uint32_t part;       /* enum live_part */
	uint32_t entry_size; /* in bytes; of blocks that of a piece */
	uint64_t first;      /* number of the first entry; of blocks 0 */
	uint64_t count;      /* entries that there is room for; of blocks pieces */
	/*
	 * Of blocks: of each piece where the memory begins that it is the shadow of, plus 1 and its
	 * plane; 0: not in use yet. Published last.
	 */
	uint64_t pieces[];
};
#define LIVE_CHUNK_OFFSET 64

/* A frame within a stack: the node's parents are the frames outside of it. */
struct live_node {
	uint32_t parent; /* node, 0: this is the outermost frame */
	uint32_t frame;  /* id of a frame record, or LIVE_FRAME_SPECIAL + enum trace_pc */
	uint32_t site;   /* that has this stack, 0: none */
	uint32_t next;   /* of the agent: in its hash chain */
};
#define LIVE_FRAME_SPECIAL 0x80000000u

/*
 * One stack's sums. Of sampled tables (the header's mean is not 0) calls are in units of
 * 1 / LIVE_WEIGHT_ONE and both are estimates already: each block counts for 1 / its probability.
 *
 * live = allocated - freed, not below 0. A peak is that of the site alone.
 *
 * Site 1 is of blocks whose stack is not known. Where it is the only one there are no stacks at all
 * (BACKTRACE=none): its sums are not kept, being those of all threads, and blocks have no times.
 */
struct live_site {
	uint64_t calls, bytes;             /* since the start */
	uint64_t freed_calls, freed_bytes; /* not the blocks of unknown origin */
	uint64_t peak_calls, peak_bytes;
	uint32_t node;  /* 0: no stack */
	uint32_t first; /* three times, see live_time_unpack(): of the first allocation, … */
	uint32_t since; /* … the first since nothing of it was live, … */
	uint32_t last;  /* … the latest one */
};
static_assert(sizeof(struct live_site) == 64, "a line of the cache");
#define LIVE_WEIGHT_ONE 65536u

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
 * Blocks lie in planes by their size. A plane has an entry for each unit of address space, in which
 * at most one of its blocks can begin.
 *
 *   plane    unit    entry   blocks
 *   small    16      4       below 512 bytes, at multiples of 16, that surely are larger than 16
 *                            (glibc's all are, for this). Two entries: that of the block's start
 * and the next. fine     8       8       other blocks below 512 bytes then     512     16      512
 * bytes and up, and each plane for blocks of its unit and up 2048 …
 */
struct live_plane {
	uint8_t unit_bits;
	uint8_t entry_bits;
};
static const struct live_plane live_planes[] = {
	{4, 2}, {3, 3}, {9, 4}, {11, 4}, {13, 4}, {15, 4}, {17, 4},
};
#define LIVE_PLANES      (sizeof(live_planes) / sizeof(live_planes[0]))
#define LIVE_PLANE_SMALL 0
#define LIVE_PLANE_FINE  1
#define LIVE_PLANE_LARGE 2 /* the first of them */
#define LIVE_PIECE_SIZE  (1u << 20)

/* The memory that a piece of a plane is the shadow of: 4 MiB of small blocks. */
static inline uint64_t live_piece_span(unsigned int plane)
{
	return (uint64_t)LIVE_PIECE_SIZE >> live_planes[plane].entry_bits
						    << live_planes[plane].unit_bits;
}

/*
 * Two words of 4 bytes, or one of 8 (the first is its lower half). The first is 0: no block.
 *   first    site << 10 | thread
 *   second   time << 9 | size           (time: 23 bits)
 * Entries of 16 bytes:
 *   u32      site << 10 | thread
 *   u32      time                       (32 bits)
 *   u64      size << 16 | start         (of the block within the unit, in units of 8 bytes)
 */
#define LIVE_SMALL_SIZE_BITS 9
#define LIVE_SMALL_TIME_BITS (32 - LIVE_SMALL_SIZE_BITS)
#define LIVE_LARGE_MIN       (1u << LIVE_SMALL_SIZE_BITS)

struct live_large {
	uint32_t owner;
	uint32_t time;
	uint64_t extent;
};
#define LIVE_START_BITS 16

/*
 * Times are ticks since the recording's start as a small floating number of so many bits: the lower
 * 5 are an exponent e, the others m, and m << e is the time in units of 1024 ticks. 0: none known,
 * or the very start.
 */
static inline uint32_t live_time_pack(uint64_t ticks, unsigned int bits)
{
	uint64_t units = ticks >> 10;
	unsigned int mantissa = bits - 5, exponent = 0;

	if (units >> mantissa)
		exponent = 64 - mantissa - (unsigned int)__builtin_clzll(units);
	return (uint32_t)(units >> exponent) << 5 | exponent;
}

static inline uint64_t live_time_unpack(uint32_t time)
{
	return (uint64_t)(time >> 5) << (time & 31) << 10;
}

#endif
