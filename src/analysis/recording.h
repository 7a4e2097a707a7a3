/*
 * One recording, loaded: what it is, its modules, frames, stacks, threads, and its events as
 * columns of blocks. The one engine that every view stands on; views only show.
 *
 * Everything here is read-only after recording_open() and may be read by several threads. All
 * pointers live until recording_close(). Times are nanoseconds since the recording's start,
 * sizes are bytes as requested unless a name says usable.
 */
#ifndef MALLOW_ANALYSIS_RECORDING_H
#define MALLOW_ANALYSIS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "trace/format.h"

#define RECORDING_NONE UINT32_MAX /* no such index */
#define TIME_NEVER     UINT64_MAX /* the free time of a leaked block */

/* One loaded ELF file; a file loaded again is another module. */
struct recorded_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_size; /* 0: none */
	uint32_t generation;
	uint64_t bias; /* file address = pc - bias */
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t loaded_ns;
	uint64_t gone_ns; /* TIME_NEVER while loaded */
};

/* One code position, unique by (pc, module). */
struct recorded_frame {
	uint64_t pc;     /* return address, or one of enum trace_pc */
	uint32_t module; /* index, RECORDING_NONE: in no module */
};

/* A node of the tree of stacks: the frame and the node of its caller. Parents come first. */
struct stack_node {
	uint32_t frame;
	uint32_t parent; /* RECORDING_NONE: outermost frame */
	uint32_t depth;  /* frames from here to the outermost, this one included */
};

/* All allocations with one stack. Sums over the whole recording. */
struct site {
	uint32_t stack; /* innermost node, RECORDING_NONE: empty stack */
	uint64_t calls;
	uint64_t total_bytes;
	uint64_t peak_bytes; /* its share of the global peak */
	uint64_t peak_blocks;
	uint64_t own_peak_bytes; /* the most it ever had live */
	uint64_t leaked_bytes;   /* never freed in the recording */
	uint64_t leaked_blocks;
	/* Freed with no other allocation by the same thread in between; not known of samples: 0. */
	uint64_t temporary;
};

struct recorded_thread {
	uint32_t stream;
	uint32_t tid;
	const char *name; /* the latest known, "" if none */
	uint64_t first_ns;
	uint64_t events;
};

/* Resident memory as the kernel counted it, bytes. */
struct memory_sample {
	uint64_t time_ns;
	uint64_t virtual_size, resident, anonymous, file, shared, swap;
};

struct recorded_mark {
	uint64_t time_ns;
	const char *name;
};

/* Recording was switched on or off. */
struct recorded_switch {
	uint64_t time_ns;
	bool on;
};

/* mmap, munmap, mremap, brk, as recorded. Fields as in docs/trace-format.md. */
struct mapping_operation {
	uint64_t time_ns;
	enum trace_record kind;
	uint32_t thread; /* index */
	uint32_t stack;
	uint64_t requested, address, length, old_address, old_length, offset;
	uint32_t protection, flags;
	int32_t fd;
	int64_t increment;
};

struct mallopt_operation {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t stack;
	int32_t parameter, value, result;
};

struct recording_facts {
	char id[33];        /* 32 lower-case hex digits */
	char parent_id[33]; /* "" if none */
	uint16_t version_major, version_minor;
	uint32_t pid, parent_pid;
	const char *path;               /* the recording's file */
	const char *program;            /* full path of the executable, "" unknown */
	const char *const *arguments;   /* NULL-terminated */
	const char *const *environment; /* the same, "NAME=value"; NULL: not recorded */
	const char *directory, *host, *kernel, *agent_version;
	enum trace_allocator allocator;
	bool begun_by_fork;
	bool begun_by_start;  /* asked for while the program ran: what was before is not known */
	uint64_t sample_mean; /* bytes between samples: sums are estimates; 0: all is recorded */
	uint64_t
		cull_ns; /* blocks that lived shorter are in sums alone, 0: none; what is live, … */
	uint64_t culled_allocations, culled_bytes; /* … peaks and events are without these */
	bool private_slots;
	bool free_stacks; /* frees have stacks */
	bool live;        /* no events, but the table of a program in live mode: live_facts.h */
	bool finished;    /* rewritten by `mallow finish` */
	bool compressed;  /* its events are, all or some of them */
	bool ended;       /* the agent closed it */
	bool alive;       /* its process is there, on this machine */
	bool writing;     /* that, and it has not ended */
	bool complete;    /* ended, nothing damaged, no events lost */
	bool filtered;    /* sites and sums are of some of its blocks: filtered.h */
	enum trace_end end_reason;
	uint32_t end_status;
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns; /* the same moment by CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t off_periods; /* how often recording was off between its start and its end … */
	uint64_t off_ns;      /* … and for how long in all */
	uint64_t events;      /* allocations, frees, reallocs (one each), mmaps, mallopts, marks,
				 pools' */
	uint64_t allocations; /* blocks that came to be: a realloc is one and a free */
	uint64_t frees; /* of known blocks: allocations = frees + implicit frees + leaked blocks */
	uint64_t reallocs;
	uint64_t failed_allocations;
	uint64_t unknown_frees;  /* of blocks that were never recorded */
	uint64_t implicit_frees; /* section 8 of docs/trace-format.md */
	uint64_t losses[TRACE_LOSS_COUNTERS];
	uint64_t lost; /* sum of the losses that are events */
	uint64_t file_size;
	uint64_t chunks;
	uint64_t missing_chunks; /* gaps in the sequence of a stream */
	uint64_t damaged_chunks;
	uint64_t first_damage;         /* file offset, valid when damaged_chunks */
	const char *first_damage_text; /* what was expected there */
	bool indexed;                  /* nothing but its index was read */
	uint32_t processes;            /* whose recordings were merged (merge.h); 0: this is one */
	bool peaks_added; /* of merged ones: the peak is the sum of peaks at different times */
};

struct recording_summary {
	uint64_t calls; /* allocations */
	uint64_t total_bytes;
	uint64_t peak_bytes;
	uint64_t peak_blocks;
	uint64_t peak_time_ns;
	uint64_t live_bytes; /* at the end, equal to leaked */
	uint64_t leaked_bytes;
	uint64_t leaked_blocks;
	uint64_t temporary;
};

/*
 * A pool of the program's own, as it said by mallow_pool_alloc(): all addresses of one name, or one
 * without. Its blocks lie in memory that malloc or mmap counts anyway, and its sums are its own:
 * its peak is when it held most, and that of a site its share in that.
 */
struct recorded_pool {
	const char *name;        /* "": none */
	uint64_t address;        /* the first one */
	uint64_t places;         /* addresses, together or one after the other */
	uint64_t frees;          /* each of a block; others end by a reset */
	uint64_t resets;         /* each of all blocks of an address */
	uint64_t implicit_frees; /* blocks that were handed out again without having ended */
	uint64_t wrong_frees;    /* of blocks that it did not hold */
	uint64_t wrong_address;  /* of the first of these … */
	uint32_t wrong_stack;    /* … and the stack, RECORDING_NONE: not recorded */
	struct recording_summary sum;
	const struct site *sites;
	uint32_t site_count;
};

/* A block that a pool handed out. */
struct pool_birth {
	uint64_t address;
	uint64_t time_ns;
	uint64_t pool; /* index */
};

struct recording;

/* Progress of long work: done of total, any unit. May be NULL where it is accepted. */
typedef void recording_progress(void *argument, uint64_t done, uint64_t total);

/* What a view needs beyond facts, sums, stacks and lists. */
enum recording_needs {
	RECORDING_SUMS = 0,
	RECORDING_BLOCKS = 1,      /* recording_blocks() */
	RECORDING_FROM_EVENTS = 2, /* events are read even where an index holds their sums … */
	RECORDING_CHECKED = 4,   /* … only where a chunk is damaged, for which all are checked */
	RECORDING_LIVE_LINE = 8, /* what was live over time: live_line.h */
	RECORDING_HEAP_ERRORS = 16, /* recording_heap_errors(), with blocks */
};

/*
 * Opens and loads a recording: finished, cut short, or still being written (what is in it now).
 * What is damaged is skipped and counted in the facts; an error is returned only where nothing
 * can be read: no such file, not a recording (the message says what was found), newer version.
 * needs: enum recording_needs. A finished recording has its sums in an index, so that no event is
 * read unless blocks are needed.
 */
struct err *recording_open(const char *path, unsigned int needs, recording_progress *progress,
			   void *argument, struct recording **ret);
/* The same of an open file, which stays the caller's. name: for messages. */
struct err *recording_open_descriptor(const char *name, int fd, unsigned int needs,
				      struct recording **ret);
void recording_close(struct recording *recording);

/*
 * The same as it was after so many operations on blocks, at least one, as struct live_step counts
 * them: peak_bytes and peak_blocks of the sites, and of the summary, are what was live then. All
 * else is of the whole recording.
 */
struct err *recording_open_moment(const char *path, uint64_t operations,
				  recording_progress *progress, void *argument,
				  struct recording **ret);

const struct recording_facts *recording_facts(const struct recording *recording);
const struct recording_summary *recording_summary(const struct recording *recording);

/*
 * The names that a finished recording carries, for symbols_section_open(); NULL: it has none.
 * symbolized.h is what views use.
 */
const uint8_t *recording_symbols(const struct recording *recording, size_t *size);

/* Arrays; *count receives the number of elements. */
const struct recorded_module *recording_modules(const struct recording *recording, uint32_t *count);
const struct recorded_frame *recording_frames(const struct recording *recording, uint32_t *count);
const struct stack_node *recording_stacks(const struct recording *recording, uint32_t *count);
const struct site *recording_sites(const struct recording *recording, uint32_t *count);
const struct recorded_thread *recording_threads(const struct recording *recording, uint32_t *count);
const struct memory_sample *recording_memory(const struct recording *recording, uint32_t *count);
const struct recorded_mark *recording_marks(const struct recording *recording, uint32_t *count);
const struct recorded_switch *recording_switches(const struct recording *recording,
						 uint32_t *count);
const struct mapping_operation *recording_mappings(const struct recording *recording,
						   uint32_t *count);
const struct mallopt_operation *recording_mallopts(const struct recording *recording,
						   uint32_t *count);
const struct recorded_pool *recording_pools(const struct recording *recording, uint32_t *count);

/* Every block that a pool handed out, by time, if blocks were needed on opening (else none). */
const struct pool_birth *recording_pool_births(const struct recording *recording, size_t *count);

/* All pools together. Where one lies in another, both count. */
const struct recording_summary *recording_pool_sum(const struct recording *recording);

/*
 * The blocks, if they were needed on opening (else none), as columns indexed 0 … count - 1 in order
 * of allocation. A block is one allocation until its free; a realloc ends one block and begins
 * another. There are less than 2^32 of them.
 */
struct block_columns {
	uint64_t count;
	const uint64_t *allocated_ns;
	const uint64_t *freed_ns; /* TIME_NEVER: leaked */
	const uint64_t *address;
	const uint64_t *size;
	const uint32_t *slack; /* usable bytes beyond the size; UINT32_MAX: so many or more */
	/* That the allocating thread had set, 0: none. NULL: no thread ever had one. */
	const uint32_t *tag;
	const uint32_t *site;        /* index */
	const uint32_t *thread;      /* index of the allocating thread */
	const uint32_t *free_thread; /* RECORDING_NONE: leaked, or freed implicitly */
	/* Innermost node of its free's stack; RECORDING_NONE as above. NULL: not recorded. */
	const uint32_t *free_stack;
	const uint32_t *successor; /* block that a realloc made of this one, else RECORDING_NONE */
	/*
	 * How many blocks had been allocated when it was freed, RECORDING_NONE: leaked. What came
	 * first is not seen from times, which are often equal.
	 */
	const uint32_t *free_turn;
	const uint8_t *entry;      /* operation: enum trace_op */
	const uint8_t *heap_flags; /* enum trace_heap_flags */
};
const struct block_columns *recording_blocks(const struct recording *recording);

enum block_order {
	BLOCK_ORDER_SIZE,
	BLOCK_ORDER_ADDRESS,
	BLOCK_ORDER_COUNT,
};

/*
 * The rows of all blocks, ascending by size or address, equal ones in order of allocation; reversed
 * it is the other way round. Made when it is first asked for, unless an index file had it, and
 * kept; several threads may ask. Fails without memory.
 */
struct err *recording_block_order(const struct recording *recording, enum block_order order,
				  const uint32_t **ret);

/* Whether that costs nothing any more. */
bool recording_has_block_order(const struct recording *recording, enum block_order order);

/* What the blocks of a site come to beyond struct site. Of samples: the samples. */
struct site_span {
	uint64_t blocks;
	uint64_t first_ns, last_ns; /* when the first and the last one was allocated */
	uint64_t smallest, largest; /* sizes */
	uint64_t freed;             /* blocks that were … */
	uint64_t lives_ns;          /* … how long these lived, together … */
	uint64_t longest_life_ns;   /* … and the one that lived longest */
	uint64_t threads;           /* that allocated them */
};

/* One for each of recording_sites(). As recording_block_order(): blocks must be there. */
struct err *recording_site_spans(const struct recording *recording, const struct site_span **ret);

/*
 * Frees that are errors of the program, if they were needed on opening, in the order in which each
 * was first met: heap_errors.h. *unjudged: frees of blocks not known that may be none, because not
 * all of the program's life is in the recording.
 */
struct heap_error;
const struct heap_error *recording_heap_errors(const struct recording *recording, uint32_t *count,
					       uint64_t *unjudged);

#endif
