/*
 * What the BPF programs and their loader share: the tables in the kernel, and the events.
 *
 *	blocks       address -> struct block: size, time, stack
 *	stack_ids    hash of frames -> where the stack is in `stacks`
 *	stacks       an array of words, filled from its start: struct stack_head, frames
 *	rows, rules, spans    the unwind tables, which the loader fills (code_tables.h)
 *	rule_cache   direct-mapped, see walk.bpf.h
 *	events       a ring of struct event
 */
#ifndef MALLOW_EBPF_BPF_BPF_SHARED_H
#define MALLOW_EBPF_BPF_BPF_SHARED_H

#ifdef __bpf__
#include "ebpf/bpf/vmlinux.bpf.h"
#else
#include <stdint.h>
#endif

#define STACK_FRAMES_MAX 256
#define STACK_NONE       0u /* no stack has this number: the head there sums blocks without one */

/* A block that is live. */
struct block {
	uint64_t size;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was allocated */
	uint32_t stack;   /* index into `stacks`; STACK_NONE: its stack is lost */
	uint32_t tid;
};

/* How a walk ended. The report counts stacks that did not end at the outermost frame. */
enum stack_end {
	STACK_WHOLE,      /* at the outermost frame: _start, or a thread's start */
	STACK_TOO_DEEP,   /* more than STACK_FRAMES_MAX frames: the outer ones are missing */
	STACK_NO_TABLES,  /* in code without unwind tables and without frame pointers */
	STACK_UNMAPPED,   /* in code that was mapped a moment ago, or that is none */
	STACK_UNREADABLE, /* a word of the program's stack could not be read, or makes no sense */
};

/* In the words of `stacks`, before the frames. */
struct stack_head {
	uint32_t frames;
	uint32_t end;    /* enum stack_end */
	uint64_t bytes;  /* live now; counted with settings.combined only */
	uint64_t blocks; /* the same */
};
#define STACK_HEAD_WORDS 3

/*
 * A frame: the return address, or, with this bit, the address that a signal interrupted. Frame 0 is
 * the one that called the allocator.
 */
#define FRAME_INTERRUPTED (1ull << 63)

/* A row of the unwind tables. It holds from its pc to that of the next row. */
struct unwind_row {
	uint32_t pc;   /* the address in the file */
	uint16_t rule; /* packed, see cfi/unwind_rule.h */
	uint16_t unused;
};

#define SPANS_MAX 4096

/* Code that is mapped: [start, end). Without rows the frame pointer is followed. */
struct bpf_span {
	uint64_t start, end;
	uint64_t bias;
	uint32_t first_row;
	uint32_t rows;
};

/* The loader fills one while the programs use the other. */
struct bpf_spans {
	uint64_t count;
	struct bpf_span list[SPANS_MAX]; /* sorted by start */
};

/*
 * One word an entry, so it is read and written at once: address << 16 | packed rule. The address is
 * the one that is looked up, which is below 2^48.
 */
#define RULE_CACHE_BITS 15
#define RULE_CACHE_SIZE (1u << RULE_CACHE_BITS)

enum event_kind {
	EVENT_MAP = 1,  /* [address, address + size) was mapped by this stack */
	EVENT_UNMAP,    /* [address, address + size) is about to be unmapped */
	EVENT_RESTORE,  /* the thread's last unmapping failed */
	EVENT_NEW_CODE, /* the loader changed libraries, or a stack came to code in no span */
	EVENT_FORK,     /* address: the child */
	EVENT_EXEC,
	EVENT_ENTERED, /* with settings.trace: an allocation begins */
	EVENT_EXITED,  /* it ends */
	EVENT_FREED,
	EVENT_THREAD_END, /* with settings.record, as the following */
	EVENT_RECORD_ALLOC,
	EVENT_RECORD_FREE,
	EVENT_RECORD_MMAP,
	EVENT_RECORD_MUNMAP,
	EVENT_RECORD_MREMAP,
};

struct event {
	uint32_t kind;
	uint32_t tid;
	uint64_t time_ns;
	uint64_t address;
	uint64_t size;
	uint64_t caller; /* EVENT_MAP: where mmap returns to */
	uint32_t stack;
	uint32_t cpu;
	char name[16]; /* of the thread; with settings.trace only */
};

/*
 * With settings.record. The times are such that blocks are in order when threads hand addresses
 * over: of a free, when it began; of an allocation, when it returned.
 */
struct recorded {
	uint32_t kind; /* enum event_kind */
	uint32_t tid;
	uint64_t time_ns;
};

struct recorded_call {
	struct recorded head;
	uint64_t address; /* 0: the allocation failed */
	uint32_t cookie;  /* hook.h; of realloc if that is what frees */
	uint32_t stack;
	/* A free ends here. */
	uint32_t generation; /* bpf_state.generation when the stack was taken */
	uint32_t unused;
	uint64_t size;
	uint64_t old;       /* the block that it replaces; 0: none */
	uint64_t began_ns;  /* with an old block */
	uint64_t alignment; /* if the function has one */
	uint64_t chunk;     /* glibc's word before the block; 0: unknown */
};
#define RECORDED_FREE_SIZE 32

struct recorded_map {
	struct recorded head;
	uint64_t address; /* what mmap or mremap returned */
	uint32_t stack;
	uint32_t generation;
	uint64_t arguments[6]; /* of the call */
};

/* Constant while the programs are loaded. */
struct bpf_settings {
	uint64_t min_size, max_size; /* inclusive */
	uint64_t sample_rate;        /* one allocation of so many is recorded */
	uint32_t process;            /* its PID, as the loader sees it */
	uint32_t combined;           /* sums for each stack are kept */
	uint32_t trace;              /* EVENT_ENTERED, EVENT_EXITED, EVENT_FREED */
	uint32_t record;             /* struct recorded, and no tables of blocks or mappings */
	uint32_t glibc;              /* with record: all blocks are of glibc's malloc */
	uint32_t depth;              /* frames of a stack at most; 0: no stacks */
	uint32_t rows;               /* in the table of rows */
	uint32_t stack_words;        /* in `stacks` */
	uint32_t page;               /* bytes of a page */
	uint64_t pid_ns_device, pid_ns_inode; /* of the loader's PID namespace; 0: the first one */
};

/* [start, end) */
struct bpf_range {
	uint64_t start, end;
};
#define ALLOCATORS_MAX 4

/* What was lost, since the start. */
struct bpf_losses {
	uint64_t blocks; /* the table of blocks was full */
	uint64_t stacks; /* allocations whose stack found no room */
	uint64_t events; /* the ring was full: mappings are wrong, or lines are missing */
	uint64_t calls;  /* no memory for the thread's state: its allocation was not seen */
};

/* Variables of the programs. The loader reads and writes them through shared memory. */
struct bpf_state {
	uint32_t spans;      /* which of the two is in use */
	uint32_t code_asked; /* a stack sent EVENT_NEW_CODE; the loader sets it back */
	uint32_t words_used; /* of `stacks` */
	/*
	 * Nothing counts: probes come and go one after the other, and what is seen of some calls
	 * alone would be wrong.
	 */
	uint32_t stopped;
	uint32_t generation; /* of the libraries: raised when they change */
	/* With settings.record; here, too, as events may be lost. */
	uint32_t executed;  /* the process executes another program: nothing counts any more */
	uint32_t ended;     /* a thread has ended … */
	uint32_t exit_code; /* … with this: that of the process, once the last one has */
	uint32_t unused;
	struct bpf_range allocators[ALLOCATORS_MAX]; /* their code, if it is in a library */
	struct bpf_losses losses;
};

#endif
