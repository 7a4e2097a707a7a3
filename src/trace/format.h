/* The numbers of docs/trace-format.md, which is the specification: change both in one commit. */
#ifndef MALLOW_TRACE_FORMAT_H
#define MALLOW_TRACE_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* "\x89MLW\r\n\x1a\n": these bytes, whatever the machine's byte order is. */
#if BYTES_BIG_ENDIAN
#define TRACE_MAGIC 0x894d4c570d0a1a0aull
#else
#define TRACE_MAGIC 0x0a1a0a0d574c4d89ull
#endif
#define TRACE_VERSION_MAJOR  1
#define TRACE_VERSION_MINOR  12
#define TRACE_PAGE           4096u
#define TRACE_CHUNK_MAGIC    0xa74b4843574c4dd1ull
#define TRACE_CHUNK_SIZE_MAX (1u << 30)
#define TRACE_LOSS_COUNTERS  16

enum trace_clock {
	TRACE_CLOCK_TSC = 1,
	TRACE_CLOCK_MONOTONIC_NS = 2,
};

enum trace_allocator {
	TRACE_ALLOCATOR_UNKNOWN = 0,
	TRACE_ALLOCATOR_GLIBC = 1,
	TRACE_ALLOCATOR_MUSL = 2,
	TRACE_ALLOCATOR_OTHER = 3,
};

/* The order of bytes in integers of a fixed size, which is the writer's. Readers turn big-endian
 * recordings: trace/byte_order.h. */
enum trace_byte_order {
	TRACE_LITTLE_ENDIAN = 0,
	TRACE_BIG_ENDIAN = 1,
};

enum trace_header_flags {
	TRACE_BEGUN_BY_FORK = 1,
	TRACE_PRIVATE_SLOTS = 2,
	TRACE_FINISHED = 4,        /* rewritten by `mallow finish`: section 9 */
	TRACE_FREE_STACKS = 8,     /* each free belongs to its stream's current stack */
	TRACE_BEGUN_BY_START = 16, /* frees of unknown blocks are expected */
	TRACE_LIVE = 32,           /* a live table instead of events: trace/live.h */
	TRACE_ATTACHED = 64,       /* written by another process: struct trace_attacher */
	TRACE_WATCHED = 128,       /* `mallow run` added what it saw from outside */
	TRACE_FOREIGN = 256,       /* another's word: received, copied, attached to */
	TRACE_HANDS_OVER = 512,    /* the program hands over calls of an allocator of its own */
	TRACE_PYTHON_POOLS = 1024, /* blocks of Python's pools are recorded, not the pools */
	TRACE_STRIPPED = 2048,     /* culled afterwards, by `mallow strip`: section 4.6 */
	TRACE_AGGREGATE = 4096,    /* sums of stacks instead of events: section 4.7 */
	TRACE_IMPORTED = 8192,     /* made of the file of another profiler, which `agent` names */
};

enum trace_state {
	TRACE_STATE_RUNNING = 0,
	TRACE_STATE_ENDED = 1,
};

enum trace_end {
	TRACE_END_UNKNOWN = 0,
	TRACE_END_EXIT = 1,
	TRACE_END_FAST_EXIT = 2, /* _exit, _Exit, quick_exit */
	TRACE_END_EXEC = 3,
	TRACE_END_STOPPED = 4,  /* by the agent; the loss counters say why */
	TRACE_END_NEXT = 5,     /* no longer written: a start opened the next recording */
	TRACE_END_DETACHED = 6, /* with TRACE_ATTACHED: the program went on */
	TRACE_END_SIGNAL = 7,   /* a signal ended the program, the status says which */
	TRACE_END_CUT = 8, /* with TRACE_STRIPPED: the program went on, the recording was cut */
};

/* As cull_ns: all blocks that were freed are only counted. */
#define TRACE_CULL_ALL UINT64_MAX

/* In place of an exit status, which has eight bits: the writer has not learnt it. */
#define TRACE_STATUS_UNKNOWN UINT32_MAX

/* Section 2. */
struct trace_header {
	uint64_t magic;
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t header_size;
	uint8_t id[16];
	uint8_t parent_id[16];
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_time;
	uint32_t machine;
	uint8_t pointer_size;
	uint8_t clock;
	uint8_t allocator;
	uint8_t byte_order; /* enum trace_byte_order */
	uint32_t flags;
	uint32_t state;
	uint64_t start_ticks;
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
	uint32_t end_reason;
	uint32_t end_status;
	uint64_t sample_mean; /* bytes between samples, 0: every allocation is recorded */
	uint64_t cull_ns;     /* blocks that lived shorter are only counted, 0: none is */
	uint64_t losses[TRACE_LOSS_COUNTERS];
};
static_assert(offsetof(struct trace_header, pid) == 48, "section 2");
static_assert(offsetof(struct trace_header, flags) == 72, "section 2");
static_assert(offsetof(struct trace_header, end_reason) == 104, "section 2");
static_assert(offsetof(struct trace_header, cull_ns) == 120, "section 2");
static_assert(offsetof(struct trace_header, losses) == 128, "section 2");

/*
 * Offset in the header's page, behind struct live_header, of a number of 4 bytes: an ended
 * recording has at least so many streams. 0: not said.
 */
#define TRACE_STREAMS_OFFSET 304

/* Behind that: how many frame records have TRACE_FRAME_GUESS, 4 bytes. */
#define TRACE_GUESSES_OFFSET 308

/* Behind that, with TRACE_ATTACHED: who writes. The header's pid is that of the program. */
struct trace_attacher {
	uint64_t start_time; /* as in the header */
	uint32_t pid;
	uint32_t reserved;
};
#define TRACE_ATTACHER_OFFSET 312
static_assert(sizeof(struct trace_attacher) == 16, "section 2");

/* Behind that: what the agent uses itself, as of its last memory sample, and the peak. In bytes. */
struct trace_memory {
	uint64_t own_virtual; /* 0: not measured so far */
	uint64_t own_anonymous, own_file, own_shared;
	uint64_t peak; /* the most that was resident at once, as the kernel says; 0: not known */
	uint32_t peak_source; /* enum trace_peak_source */
	uint32_t reserved;
};
#define TRACE_MEMORY_OFFSET 328
static_assert(sizeof(struct trace_memory) == 48, "section 2");

/* Behind that: how large the file is that was finished, 8 bytes; 0: not said. */
#define TRACE_SIZE_OFFSET 376

enum trace_peak_source {
	TRACE_PEAK_SAMPLED = 1, /* VmHWM, as of the last time that somebody looked: at least */
	TRACE_PEAK_WAITED = 2,  /* the kernel said it at the end */
};

enum trace_chunk_kind {
	TRACE_CHUNK_EVENTS = 1,
	TRACE_CHUNK_PACKED = 2,  /* several events chunks of one stream, compressed */
	TRACE_CHUNK_SYMBOLS = 3, /* the names of the frames */
	TRACE_CHUNK_INDEX = 4,   /* what the engine derived from the events */
	TRACE_CHUNK_LIVE = 5,    /* a part of the live table: trace/live.h; never sealed */
	TRACE_CHUNK_CURVE = 6,   /* what was live over the run */
	TRACE_CHUNK_UNSEEN = 7,  /* what the recording cannot show */
};

enum trace_chunk_flags {
	TRACE_CHUNK_SLOT = 1,
	TRACE_CHUNK_SEALED = 2,
};

/* Section 3. */
struct trace_chunk {
	uint64_t magic;
	uint32_t kind;
	uint32_t size;
	uint32_t stream;
	uint32_t flags;
	uint64_t commit; /* committed in the low half, sequence in the high half */
	uint64_t open_ticks;
	uint64_t open_monotonic_ns;
	uint64_t base_ticks;
	uint32_t carried;
	uint32_t reserved;
};
static_assert(sizeof(struct trace_chunk) == 64, "section 3");
static_assert(offsetof(struct trace_chunk, commit) == 24, "section 3");

#define TRACE_TRAILER_SIZE 8u
#define TRACE_NO_STREAM    UINT32_MAX /* the stream of slots without a thread and of live chunks */

/* Section 9: the first byte of the payload of the chunks that finishing adds. */
enum trace_storage {
	TRACE_STORAGE_RAW = 0,
	TRACE_STORAGE_ZSTD = 1,    /* one frame */
	TRACE_STORAGE_COLUMNS = 2, /* packed chunks only: a frame for each column */
};

/* Section 9: the most bytes that one of these chunks may hold once decompressed. */
#define TRACE_CONTENT_MAX (1u << 30)

/* Section 9.1: the most bytes that a packed chunk may hold for each byte that it takes itself. */
#define TRACE_PACKED_RATIO_MAX 256u

static inline uint64_t trace_commit_word(uint32_t sequence, uint32_t committed)
{
	return (uint64_t)sequence << 32 | committed;
}

/* Section 4.1: the first byte of a core record. */
#define TRACE_OP_MASK      0x1f
#define TRACE_STACK_CHANGE 0x20
#define TRACE_EXTRA        0x40
#define TRACE_OTHER        0x80

enum trace_op {
#define ENTRY(number, NAME, name, aligned) TRACE_OP_##NAME = number,
#include "trace/entries.def"
#undef ENTRY
	TRACE_OP_REALLOC = 18, /* of an existing block */
	TRACE_OP_REALLOCARRAY = 19,
	TRACE_OP_FREE = 20,
	TRACE_OP_DELETE = 21,
	TRACE_OP_DELETE_ARRAY = 22,
	TRACE_OP_STACK = 23,
	TRACE_OP_TIME = 24,
	TRACE_OP_RESYNC = 25,
};
#define TRACE_OP_LAST_ALLOCATION 17

/*
 * Section 4.3: a survivor's operation field holds the operation, and its heap flags from this bit
 * on.
 */
#define TRACE_SURVIVOR_FLAGS_SHIFT 5

enum trace_heap_flags {
	TRACE_HEAP_MMAPPED = 1,
	TRACE_HEAP_NON_MAIN_ARENA = 2,
};

/* Section 4.2: first bytes of the other records. */
enum trace_record {
	TRACE_RECORD_FRAME = 0x81,
	TRACE_RECORD_MODULE = 0x82,
	TRACE_RECORD_MODULE_GONE = 0x83,
	TRACE_RECORD_THREAD = 0x84,
	TRACE_RECORD_THREAD_NAME = 0x85,
	TRACE_RECORD_THREAD_END = 0x86,
	TRACE_RECORD_PROCESS = 0x87,
	TRACE_RECORD_MMAP = 0x88,
	TRACE_RECORD_MUNMAP = 0x89,
	TRACE_RECORD_MREMAP = 0x8a,
	TRACE_RECORD_BRK = 0x8b,
	TRACE_RECORD_MALLOPT = 0x8c,
	TRACE_RECORD_MARK = 0x8d,
	TRACE_RECORD_MEMORY = 0x8e,
	TRACE_RECORD_FORK = 0x8f,
	TRACE_RECORD_EXEC = 0x90,
	TRACE_RECORD_END = 0x91,
	TRACE_RECORD_FAILED = 0x92,
	TRACE_RECORD_OFF = 0x93,
	TRACE_RECORD_ON = 0x94,
	TRACE_RECORD_TAG = 0x95,
	TRACE_RECORD_POOL_ALLOC = 0x96,
	TRACE_RECORD_POOL_FREE = 0x97,
	TRACE_RECORD_POOL_RESET = 0x98,
	TRACE_RECORD_POOL_NAME = 0x99,
	TRACE_RECORD_UNSEEN = 0x9a,
	TRACE_RECORD_PATCHED = 0x9b,
	TRACE_RECORD_SUM = 0x9c,
	TRACE_RECORD_STACK = 0xa8,
	TRACE_RECORD_SURVIVOR = 0xa9,
	TRACE_RECORD_CULLED = 0xaa,
	TRACE_RECORD_PLACE = 0xab, /* where the chunk is, in live tables */
};

/* Section 4.2: a frame's flags. */
#define TRACE_FRAME_GUESS  1 /* its caller was found by a guess */
#define TRACE_FRAME_SCRIPT 2 /* not code of the processor's: it says its name and line itself */

/* The pc of such a frame has this bit; the others are a hash of what it says. */
#define TRACE_PC_SCRIPT (UINT64_C(1) << 63)

#define TRACE_PLACE_ID 8 /* so many bytes of the recording's id are in a place record */

/*
 * Whether a record is about the program's own pools. Readers put these records in order of time
 * over all streams, as they do core records.
 */
static inline bool trace_is_pool_record(uint8_t kind)
{
	return kind >= TRACE_RECORD_POOL_ALLOC && kind <= TRACE_RECORD_POOL_NAME;
}

enum trace_process_field {
	TRACE_PROCESS_EXECUTABLE = 1,
	TRACE_PROCESS_ARGUMENTS = 2,
	TRACE_PROCESS_DIRECTORY = 3,
	TRACE_PROCESS_ENVIRONMENT = 4,
	TRACE_PROCESS_HOST = 5,
	TRACE_PROCESS_KERNEL = 6,
	TRACE_PROCESS_AGENT = 7,
};

/* Section 4.7: what a sum record has of a stack, a bit each in its field `known`. */
enum trace_sum {
	TRACE_SUM_CALLS = 0, /* allocations so far … */
	TRACE_SUM_BYTES = 1, /* … and their bytes */
	TRACE_SUM_LIVE_BLOCKS = 2,
	TRACE_SUM_LIVE_BYTES = 3,
	TRACE_SUM_PEAK_BLOCKS = 4, /* of the peak of all together */
	TRACE_SUM_PEAK_BYTES = 5,
	TRACE_SUM_OWN_PEAK_BYTES = 6,
	TRACE_SUM_TEMPORARY = 7,
};
#define TRACE_SUMS 8

/* Section 4.5: why memory is not in the recording. Later versions may know more. */
enum trace_unseen {
	TRACE_UNSEEN_OWN_MALLOC = 1, /* the program defines malloc itself */
	TRACE_UNSEEN_LINKED = 2,     /* an allocator is linked into the object */
	TRACE_UNSEEN_PRELOADED = 3,  /* a preloaded malloc comes before ours */
	TRACE_UNSEEN_STARTED = 4,    /* a program was started, and is not recorded */
	TRACE_UNSEEN_RESIDENT = 5,   /* memory is resident that nothing explains */
	TRACE_UNSEEN_REFUSED = 6,    /* functions of the object's allocator could not be patched */
	TRACE_UNSEEN_FREES = 7,      /* frees: blocks were allocated where others were live */
};

/* Section 5: values of pc that stand for something else than code. */
enum trace_pc {
	TRACE_PC_TRUNCATED = 1, /* frames outside were cut off at DEPTH */
	TRACE_PC_BROKEN = 2,    /* frames outside could not be found */
	TRACE_PC_LOST = 3,      /* made by readers: the chunk that held the frame is lost */
	TRACE_PC_LAST_SPECIAL = 15,
};

/* Section 7. */
enum trace_loss {
#define LOSS(number, NAME, name, loses_events, text) TRACE_LOSS_##NAME = number,
#include "trace/losses.def"
#undef LOSS
};

/*
 * Section 4.1: how many bytes glibc's malloc makes usable for a request of size bytes. Readers
 * assume it where the record has no extra field.
 */
static inline uint64_t trace_glibc_usable(uint64_t size)
{
	uint64_t chunk = (size + 8 + 15) & ~15ull;

	return (chunk < 32 ? 32 : chunk) - 8;
}

#endif
