/*
 * A loaded recording: its facts, modules, frames, stacks and threads, and its events as columns of
 * blocks. All views are made from this; they compute nothing themselves.
 *
 * After recording_open() a recording does not change, and several threads may read it. All pointers
 * live until recording_close(). Times are nanoseconds since the recording's start. Sizes are
 * requested bytes, unless a name says usable.
 */
#ifndef MALLOW_ANALYSIS_RECORDING_H
#define MALLOW_ANALYSIS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coredump/coredump.h"
#include "hosted/err.h"
#include "trace/format.h"
#include "hosted/cleanup.h"

#define RECORDING_NONE UINT32_MAX /* stands for "no such index" */
#define TIME_NEVER     UINT64_MAX /* freed_ns of a leaked block */

/* A loaded ELF file. A file that is loaded again is another module. */
struct recorded_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_size; /* 0: none */
	uint32_t generation;
	uint64_t bias; /* file address = pc - bias */
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t loaded_ns;
	uint64_t gone_ns; /* TIME_NEVER: never unloaded */
};

/* Whether it is the file of a script, of which the processor runs nothing. */
static inline bool recorded_module_is_script(const struct recorded_module *module)
{
	return !module->end;
}

/* A position in code. Each (pc, module) is there once. */
struct recorded_frame {
	uint64_t pc; /* return address, or a value of enum trace_pc; with TRACE_PC_SCRIPT none */
	uint32_t module; /* index; RECORDING_NONE: in no module */
	/* Of a script frame, unless the recording has all names as symbols. */
	uint32_t line;    /* 0: not known */
	const char *name; /* NULL: see above */
};

/* Whether it is a script's function: its module is the script's file. */
static inline bool recorded_frame_is_script(const struct recorded_frame *frame)
{
	return frame->pc & TRACE_PC_SCRIPT && frame->module != RECORDING_NONE;
}

/* A node of the tree of stacks: a frame, and the node of its caller. A parent has a lower index. */
struct stack_node {
	uint32_t frame;
	uint32_t parent; /* RECORDING_NONE: outermost frame */
	uint32_t depth;  /* how many frames from here to the outermost, both included */
};

/* All allocations with one stack, summed over the whole recording. */
struct site {
	uint32_t stack; /* innermost node; RECORDING_NONE: empty stack */
	uint64_t calls;
	uint64_t total_bytes;
	uint64_t peak_bytes; /* its share of the global peak */
	uint64_t peak_blocks;
	uint64_t own_peak_bytes; /* the most that it had live at any time */
	uint64_t leaked_bytes;   /* never freed in the recording */
	uint64_t leaked_blocks;
	/*
	 * Freed with no other allocation by the same thread in between. 0 in a sample: not known.
	 */
	uint64_t temporary;
};

struct recorded_thread {
	uint32_t stream;
	uint32_t tid;
	const char *name; /* the latest known; "": none */
	uint64_t first_ns;
	uint64_t events;
};

/* Memory of the process as the kernel counted it, in bytes. */
struct memory_sample {
	uint64_t time_ns;
	uint64_t virtual_size, resident, anonymous, file, shared, swap;
};

struct recorded_mark {
	uint64_t time_ns;
	const char *name;
	uint32_t stream; /* of the thread that set it; 0 if only the index was read */
};

/* Recording was switched on or off at that time. */
struct recorded_switch {
	uint64_t time_ns;
	bool on;
};

/* A call of mmap, munmap, mremap or brk. Fields as in docs/trace-format.md. */
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
	const char *program;            /* full path of the executable; "": unknown */
	const char *const *arguments;   /* NULL-terminated */
	const char *const *environment; /* the same: "NAME=value"; NULL: not recorded */
	const char *directory, *host, *kernel, *agent_version;
	uint32_t machine; /* e_machine of ELF; 0: not known */
	uint8_t pointer_size;
	enum trace_allocator allocator;
	bool begun_by_fork;
	bool begun_by_start;  /* begun while the program ran: what was before is not known */
	bool attached;        /* written by `mallow attach`, which attached to the program */
	uint64_t sample_mean; /* bytes between samples, so sums are estimates; 0: no sample */
	/*
	 * Blocks that lived shorter than this are in sums only, not in what is live, in peaks and
	 * in events; 0: no blocks are. culled_allocations and culled_bytes: how many these are.
	 */
	uint64_t cull_ns;
	uint64_t culled_allocations, culled_bytes;
	bool stripped; /* culled afterwards: only the peak is of all blocks. TRACE_CULL_ALL */
	bool private_slots;
	bool free_stacks; /* frees have stacks */
	bool live;        /* no events: the table of a program in live mode, live_facts.h */
	const struct coredump_facts *core; /* the table comes from a core dump; NULL: no */
	bool imported; /* it was made of the file of another profiler, which agent_version names */
	/* It has sums alone, of stacks, and no blocks: aggregate.h. NULL: no. */
	const struct aggregate *aggregate;
	bool finished;   /* rewritten by `mallow finish` */
	bool compressed; /* all or some of its events are compressed */
	bool ended;      /* the agent closed the recording */
	bool alive;      /* its process lives, on this machine */
	bool writing;    /* alive, and not ended */
	bool complete;   /* ended, nothing is damaged, no events are lost */
	bool filtered;   /* sites and sums are of some of the blocks: filtered.h */
	bool watched;    /* `mallow run` sampled its memory, too, and waited for its end */
	/* Its claims are another machine's or user's: it was received, or copied for that user. */
	bool foreign;
	bool python_pools; /* blocks of Python's pools are recorded, not the pools */
	bool hands_over;   /* the program hands over calls of an allocator of its own */
	/*
	 * How the program ended. Known without `ended`, too: where it was killed, or left without
	 * the agent, and `mallow run` waited for it.
	 */
	enum trace_end end_reason;
	uint32_t end_status;
	uint32_t owner; /* the user whose file it is; UINT32_MAX: there is none */
	/* The most that was resident at once, in bytes, the agent included; 0: not known. */
	uint64_t peak_resident;
	enum trace_peak_source peak_resident_source;
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns; /* the same moment, CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t off_periods; /* how often recording was off between its start and its end … */
	uint64_t off_ns;      /* … and for how long in all */
	/* Allocations, frees, reallocs (one each), mmaps, mallopts, marks, and those of pools. */
	uint64_t events;
	uint64_t allocations; /* blocks that began: a realloc is an allocation and a free */
	uint64_t frees; /* of known blocks: allocations = frees + implicit frees + leaked blocks */
	uint64_t reallocs;
	uint64_t failed_allocations;
	uint64_t unknown_frees;  /* of blocks that were never recorded */
	uint64_t implicit_frees; /* section 8 of docs/trace-format.md */
	uint64_t losses[TRACE_LOSS_COUNTERS];
	uint64_t guesses; /* frames whose callers are a guess */
	uint64_t lost;    /* sum of those losses that are events */
	uint64_t file_size;
	uint64_t chunks;
	uint64_t missing_chunks; /* gaps in the sequence of a stream */
	uint64_t damaged_chunks;
	uint64_t first_damage;         /* file offset, valid when damaged_chunks */
	const char *first_damage_text; /* what was expected there */
	bool indexed;                  /* only its index was read, no events */
	struct sight *sight;           /* what it cannot show: sight.h. NULL: not known */
	uint32_t processes;            /* merged: how many recordings (merge.h); 0: this is one */
	bool peaks_added;              /* merged: the peak is a sum of peaks at different times */
};

/* Whether the program went on after the recording: mallow detached from it, or it was cut. */
static inline bool recording_facts_went_on(const struct recording_facts *facts)
{
	return facts->end_reason == TRACE_END_DETACHED || facts->end_reason == TRACE_END_CUT;
}

/* Whether the recording has the program's end: what was not freed then never was. */
static inline bool recording_facts_have_end(const struct recording_facts *facts)
{
	return facts->ended && !recording_facts_went_on(facts);
}

/* Whether something of it is missing: events that were lost, chunks that are not there or damaged.
 */
static inline bool recording_facts_have_gaps(const struct recording_facts *facts)
{
	return facts->lost || facts->missing_chunks || facts->damaged_chunks;
}

struct recording_summary {
	uint64_t calls; /* allocations */
	uint64_t total_bytes;
	uint64_t peak_bytes;
	uint64_t peak_blocks;
	uint64_t peak_time_ns;
	uint64_t live_bytes; /* at the end; equal to leaked_bytes */
	uint64_t leaked_bytes;
	uint64_t leaked_blocks;
	uint64_t temporary;
};

/*
 * A pool of the program's own, which told of it by mallow_pool_alloc(): all addresses with one
 * name, or one address without a name. Its blocks lie in memory that malloc or mmap counts anyway,
 * so its sums are separate. Its peak is the moment at which it held most, and the peaks of its
 * sites are their shares of it.
 */
struct recorded_pool {
	const char *name;        /* "": none */
	uint64_t address;        /* the first address */
	uint64_t places;         /* how many addresses, at a time or one after the other */
	uint64_t frees;          /* frees of single blocks; other blocks end by a reset */
	uint64_t resets;         /* each ends all blocks of one address */
	uint64_t implicit_frees; /* blocks handed out again that had not ended */
	uint64_t wrong_frees;    /* frees of blocks that it did not hold */
	uint64_t wrong_address;  /* the first of these: its address … */
	uint32_t wrong_stack;    /* … and its stack; RECORDING_NONE: not recorded */
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

/* Reports progress: `done` of `total`, in any unit. Where one is accepted it may be NULL. */
typedef void recording_progress(void *argument, uint64_t done, uint64_t total);

/* What a caller needs besides facts, sums, stacks and lists. */
enum recording_needs {
	RECORDING_SUMS = 0,
	RECORDING_BLOCKS = 1,      /* recording_blocks() */
	RECORDING_FROM_EVENTS = 2, /* events are read even if an index has their sums */
	/* All checksums are compared; an index is used only if no chunk is damaged. */
	RECORDING_CHECKED = 4,
	RECORDING_LIVE_LINE = 8,    /* what was live over time: live_line.h */
	RECORDING_HEAP_ERRORS = 16, /* recording_heap_errors() */
	/*
	 * recording_run_facts(): from an index, else of the events. With blocks, errors of the heap
	 * are among them only if these are needed, too.
	 */
	RECORDING_RUN_FACTS = 32,
	RECORDING_CURVE = 64, /* with run facts that are made of events: series_keep() */
};

/*
 * Opens and loads a recording, also one that is cut short, or still being written (what is in it
 * now). Damage is skipped and counted in the facts. An error means that nothing can be read: no
 * such file, not a recording (the message says what was found), a newer version. needs: enum
 * recording_needs. A finished recording has its sums in an index, so no event is read unless blocks
 * are needed.
 */
struct err *recording_open(const char *path, unsigned int needs, recording_progress *progress,
			   void *argument, struct recording **ret);
/* The same for an open file, which stays the caller's. name: for messages. */
struct err *recording_open_descriptor(const char *name, int fd, unsigned int needs,
				      struct recording **ret);
/* The live table in raw dumps of one process's memory, with blocks: coredump_open_raw(). */
struct err *recording_open_raw(const char *const *paths, size_t count, struct recording **ret);
void recording_close(struct recording *recording);
CLEANUP_DEFINE(struct recording *, recording_close);

/*
 * Says in the facts that the process has ended, which was seen since. Others may read the facts
 * meanwhile.
 */
void recording_note_end(struct recording *recording);

/*
 * The same, but with the peak at a given moment: after so many operations on blocks, at least one
 * (struct live_step counts them). peak_bytes and peak_blocks of the sites and of the summary are
 * what was live then. All else is about the whole recording.
 */
struct err *recording_open_moment(const char *path, uint64_t operations,
				  recording_progress *progress, void *argument,
				  struct recording **ret);

const struct recording_facts *recording_facts(const struct recording *recording);
const struct recording_summary *recording_summary(const struct recording *recording);

/*
 * The names in a finished recording, for symbols_section_open(). NULL: it has none. Views use
 * symbolized.h instead.
 */
const uint8_t *recording_symbols(const struct recording *recording, size_t *size);

/* Arrays. *count: how many elements; count may be NULL. */
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

/*
 * Every block that a pool handed out, in order of time. None unless blocks were needed on opening.
 */
const struct pool_birth *recording_pool_births(const struct recording *recording, size_t *count);

/* The sums of all pools. If one lies within another, both count. */
const struct recording_summary *recording_pool_sum(const struct recording *recording);

/*
 * The blocks as columns, indexed 0 … count - 1 in order of allocation. None unless blocks were
 * needed on opening. A block is an allocation until its free; a realloc ends one block and begins
 * another. There are less than 2^32 blocks.
 */
struct block_columns {
	uint64_t count;
	const uint64_t *allocated_ns;
	const uint64_t *freed_ns; /* TIME_NEVER: leaked */
	const uint64_t *address;
	const uint64_t *size;
	const uint32_t *slack; /* usable bytes beyond the size; UINT32_MAX: that or more */
	/* The tag of the allocating thread, 0: none. NULL: no thread ever had a tag. */
	const uint32_t *tag;
	const uint32_t *site;        /* index */
	const uint32_t *thread;      /* index of the allocating thread */
	const uint32_t *free_thread; /* RECORDING_NONE: leaked, or freed implicitly */
	/* Innermost node of the free's stack; RECORDING_NONE as above. NULL: not recorded. */
	const uint32_t *free_stack;
	const uint32_t *successor; /* block that a realloc made of it; RECORDING_NONE: none */
	/*
	 * How many blocks had been allocated when this one was freed; RECORDING_NONE: leaked. This
	 * tells what came first; times do not, because they are often equal.
	 */
	const uint32_t *free_turn;
	const uint8_t *entry;      /* the operation: enum trace_op */
	const uint8_t *heap_flags; /* enum trace_heap_flags */
};
const struct block_columns *recording_blocks(const struct recording *recording);

enum block_order {
	BLOCK_ORDER_SIZE,
	BLOCK_ORDER_ADDRESS,
	BLOCK_ORDER_STORED, /* index files have those before */
	BLOCK_ORDER_LIFETIME = BLOCK_ORDER_STORED,
	BLOCK_ORDER_SLACK,
	BLOCK_ORDER_COUNT,
};

/*
 * *ret: what blocks are ordered by, a number for each: a column, or made and kept as below. The
 * lifetime of a leaked block is TIME_NEVER.
 */
struct err *recording_block_keys(const struct recording *recording, enum block_order order,
				 const uint64_t **ret);

/*
 * *ret: the indices of all blocks, ascending by their keys, equal ones in order of allocation. For
 * the descending order read it backwards. It is made when it is first asked for, unless an index
 * file has it, and kept; several threads may ask. The only error: no memory.
 */
struct err *recording_block_order(const struct recording *recording, enum block_order order,
				  const uint32_t **ret);

/* Whether recording_block_order() is made already. */
bool recording_has_block_order(const struct recording *recording, enum block_order order);

/*
 * *ret: of each block the first block of its chain, which is the chain's number: realloc made the
 * block of that one, at once or step by step. Of a block that realloc did not make it is the block
 * itself. Made and kept as by recording_block_order().
 */
struct err *recording_block_chains(const struct recording *recording, const uint32_t **ret);

/* For each block: the last block of its chain, and how many blocks of the chain came before it. */
struct chain_places {
	const uint32_t *last; /* NULL: no block has a successor, so each is a chain alone */
	const uint32_t *position;
};

/* Made and kept as by recording_block_order(). */
struct err *recording_chain_places(const struct recording *recording, struct chain_places *ret);

/* What is known of a site's blocks besides struct site. In a sample: of the sampled blocks. */
struct site_span {
	uint64_t blocks;
	uint64_t first_ns, last_ns; /* when the first and the last block was allocated */
	uint64_t smallest, largest; /* of their sizes */
	uint64_t freed;             /* blocks that were freed … */
	uint64_t lives_ns;          /* … the sum of their lifetimes … */
	uint64_t longest_life_ns;   /* … and the longest lifetime */
	uint64_t threads;           /* how many threads allocated them */
};

/*
 * *ret: one for each of recording_sites(). Made and kept as by recording_block_order(). Blocks must
 * have been needed on opening.
 */
struct err *recording_site_spans(const struct recording *recording, const struct site_span **ret);

/*
 * Frees that are errors of the program, in the order in which each kind was first met:
 * heap_errors.h. None unless needed on opening. *unjudged: frees of unknown blocks that may be no
 * errors, because parts of the program's life are not in the recording.
 */
struct heap_error;
const struct heap_error *recording_heap_errors(const struct recording *recording, uint32_t *count,
					       uint64_t *unjudged);

#endif
