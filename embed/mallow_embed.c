/*
 * Keeps a live table (docs/trace-format.md, section 10) in memory that the firmware gives:
 *
 *	0      header       struct header
 *	4096   events       records: place, process, module, and a frame for each node
 *	…      nodes        hash table: a frame, and the node of the frames outside of it
 *	…      sites        the sums of one stack, by number
 *	…      threads      sums and names … only with the callback `thread`
 *	…      freed        … and what was freed of each
 *	…      blocks       hash table by address
 *
 * All but the header are chunks: struct chunk, then entries. Both hash tables are probed linearly.
 *
 * Whoever reads the table stops the processor at any instruction, or reads while it runs. So a
 * thing is complete before anything names it: frame, node, site, sums, block, in this order. When a
 * block ends, its entry goes before its sums change. Everything in the table is volatile, which
 * keeps the stores in order. Where a processor reorders stores as others see them, the lock needs
 * barriers.
 */
#include "mallow_embed.h"

#include <stdbool.h>

/* Not from <string.h>, which a freestanding compiler need not have. */
void *memcpy(void *restrict to, const void *restrict from, size_t size);

#define PAGE        4096u
#define CHUNK_MAGIC 0xa74b4843574c4dd1ull
#define NO_STREAM   0xffffffffu
#define MEMORY_MAX  ((size_t)256 << 20) /* so that all numbers are within the format's limits */
#define PAYLOAD     64u                 /* where records begin in a chunk */
#define ROOM        (table.events->size - PAYLOAD - 8) /* for records */
#define RECORD_HEAD 3u /* first byte; length as a varint of two bytes */

#define STACKLESS       1u /* the site of blocks whose stack is not known */
#define SPECIAL         0x80000000u
#define PC_TRUNCATED    1u
#define PC_BROKEN       2u
#define PC_LAST_SPECIAL 15u
#define THREAD_SHIFT    32 /* in a block's state */
#define SITE_SHIFT      42
#define THREAD_MAX      61u /* so that a page has room for all */
#define OWN_FRAMES      8   /* more than this file, or a backtrace, has of its own in a stack */

enum { LOSS_NO_MEMORY = 1, LOSS_TRUNCATED_STACKS = 7, LOSS_BROKEN_STACKS = 8 };
enum { RECORD_FRAME = 0x81, RECORD_MODULE = 0x82, RECORD_PROCESS = 0x87, RECORD_PLACE = 0xab };
enum part { EVENTS = 0, NODES = 1, SITES = 2, THREADS = 3, FREED = 4, BLOCKS = 8 };

#if defined(__x86_64__)
#define MACHINE 62 /* as in ELF */
#elif defined(__i386__)
#define MACHINE 3
#elif defined(__aarch64__)
#define MACHINE 183
#elif defined(__arm__)
#define MACHINE 40
#elif defined(__riscv)
#define MACHINE 243
#elif defined(__s390x__)
#define MACHINE 22
#else
#define MACHINE 0
#endif

struct header {
	uint8_t magic[8];
	uint16_t version_major, version_minor;
	uint32_t size;
	uint8_t id[16], parent_id[16];
	uint32_t pid, parent_pid;
	uint64_t start_time;
	uint32_t machine;
	uint8_t pointer_size, clock, allocator, byte_order;
	uint32_t flags, state;
	uint64_t start_ticks, start_monotonic_ns, start_realtime_ns;
	uint32_t end_reason, end_status;
	uint64_t sample_mean, cull_ns;
	uint64_t losses[16];
	uint32_t nodes, sites, threads, baselines;
	uint64_t base_ticks, now_ticks, now_monotonic_ns;
	uint32_t last_report, keeper;
};

/* The events chunk has only the members before `offset`; its payload begins at byte 64. */
struct chunk {
	uint64_t magic;
	uint32_t kind, size, stream, flags;
	uint64_t commit; /* one number: bytes committed + (sequence << 32) */
	uint64_t offset, address;
	uint8_t id[8];
	uint64_t checksum;
	uint32_t part, entry_size;
	uint64_t first, count, array;
};

struct node {
	uint32_t parent, frame; /* frame 0: no node */
	uint32_t site;          /* of this stack; 0: none yet */
};

struct site {
	uint64_t calls, bytes, freed_calls, freed_bytes, peak_calls, peak_bytes;
	uint32_t node, first, since, last;
};

struct thread {
	uint64_t calls, bytes;
	uint32_t tid, state;
	uint8_t name[16];
	uint64_t reserved[3];
};

struct freed {
	uint64_t calls, bytes;
};

struct block {
	uint64_t address, state, size; /* state 0: no block */
};

/* C99 has no static_assert. */
typedef char header_has_304_bytes[sizeof(struct header) == 304 ? 1 : -1];
typedef char chunk_has_96_bytes[sizeof(struct chunk) == 96 ? 1 : -1];

static struct {
	struct mallow_embed_options options;
	volatile struct header *header; /* NULL: nothing is recorded */
	volatile struct chunk *events;
	volatile struct node *nodes;     /* number n is nodes[n - 1] */
	volatile struct site *sites;     /* number n is sites[n - 1] */
	volatile struct thread *threads; /* NULL: there are none */
	volatile struct freed *freed;    /* by thread 0, of each thread */
	volatile struct block *blocks;
	uint32_t node_count, nodes_left; /* left: less than are free, so that searches stay short */
	uint32_t block_count, blocks_left;
	uint32_t site_count;
	uint32_t put;   /* bytes of records, not all of them committed */
	uint8_t id[16]; /* of the recording */
} table;

/* What is known of a call of the API. */
struct call {
	uintptr_t pcs[MALLOW_EMBED_DEPTH + OWN_FRAMES]; /* the stack, innermost first: … */
	size_t first, end;                              /* … pcs[first] to pcs[end - 1] */
	uint32_t outside; /* PC_TRUNCATED, PC_BROKEN: outer frames are missing; else 0 */
	uint32_t time;    /* packed */
	uint32_t thread;
	const char *thread_name;
};

#if defined(__GNUC__)
/* A function that asks for its caller must not be inlined into it. */
#define NOINLINE __attribute__((noinline))
#define CALLER() ((uintptr_t)__builtin_return_address(0))
#else
#define NOINLINE
#define CALLER() ((uintptr_t)0)
#endif

static uintptr_t lock(void)
{
	return table.options.lock ? table.options.lock() : 0;
}

static void unlock(uintptr_t state)
{
	if (table.options.unlock)
		table.options.unlock(state);
}

static uint64_t now(void)
{
	return table.options.clock ? table.options.clock() : 0;
}

/* By memcpy(), because of a loop compilers make a call of memset(). */
static void zero(void *at, size_t size)
{
	static const uint8_t zeros[64];
	uint8_t *to = at;

	for (; size > sizeof(zeros); size -= sizeof(zeros), to += sizeof(zeros))
		memcpy(to, zeros, sizeof(zeros));
	memcpy(to, zeros, size);
}

static void copy(volatile uint8_t *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = ((const uint8_t *)from)[i];
}

/* Ticks as a small floating point number (section 10): 27 bits, and 5 of exponent. */
static uint32_t time_pack(uint64_t ticks)
{
	uint64_t units = ticks >> 10;
	uint32_t exponent = 0;

	for (; units >> 27; units >>= 1)
		exponent++;
	return exponent > 31 ? UINT32_MAX : (uint32_t)units << 5 | exponent;
}

/* Hash tables: the slot, of `count`, where the search for a key begins. */
static uint32_t home_of(uint64_t key, uint32_t count)
{
	uint32_t hash = (uint32_t)(key ^ key >> 32);

	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
	return (uint32_t)((uint64_t)(hash ^ hash >> 16) * count >> 32);
}

static uint32_t next_of(uint32_t slot, uint32_t count)
{
	return slot + 1 < count ? slot + 1 : 0;
}

/*
 * Records. They are put behind what is committed, and count from commit() on. What does not fit is
 * not stored, and commit() notices.
 */

static volatile uint8_t *payload(void)
{
	return (volatile uint8_t *)table.events + PAYLOAD;
}

static void put_byte(uint8_t byte)
{
	if (table.put < ROOM)
		payload()[table.put] = byte;
	table.put++;
}

static void put_bytes(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		put_byte(((const uint8_t *)bytes)[i]);
}

static void put_text(const char *text)
{
	while (text && *text)
		put_byte((uint8_t)*text++);
}

static void put_varint(uint64_t value)
{
	for (; value >> 7; value >>= 7)
		put_byte((uint8_t)(value | 0x80));
	put_byte((uint8_t)value);
}

/* Begins a record. commit() sets its length. */
static void put_head(uint8_t kind)
{
	put_byte(kind);
	put_byte(0);
	put_byte(0);
}

/* false: the record does not fit, and is not there. */
static bool commit(void)
{
	uint32_t start = (uint32_t)table.events->commit, length = table.put - start - RECORD_HEAD;

	if (table.put > ROOM || length >> 14) {
		table.put = start;
		return false;
	}
	payload()[start + 1] = (uint8_t)(length | 0x80);
	payload()[start + 2] = (uint8_t)(length >> 7);
	table.events->commit = table.put;
	return true;
}

/*
 * Stacks. A frame's id is where its record begins in the payload, so the id leads to the pc. Each
 * node has a frame of its own, because the format allows several of one pc.
 */

static uintptr_t frame_pc(uint32_t id)
{
	uint32_t at = id + RECORD_HEAD;
	unsigned int shift = 0;
	uintptr_t pc = 0;
	uint8_t byte;

	if (id >= SPECIAL)
		return id - SPECIAL;
	while (payload()[at++] & 0x80) // the id
		continue;
	do {
		byte = payload()[at++];
		pc |= (uintptr_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return pc;
}

/* The node of a frame within the stack `parent`. 0: there is no room for it. */
static uint32_t node_find(uint32_t parent, uintptr_t pc)
{
	uint32_t count = table.node_count, frame;
	uint32_t slot = home_of((uint64_t)pc + parent * 0x9e3779b1u, count);

	for (; (frame = table.nodes[slot].frame) != 0; slot = next_of(slot, count))
		if (table.nodes[slot].parent == parent && frame_pc(frame) == pc)
			return slot + 1;
	if (!table.nodes_left)
		return 0;
	frame = pc > PC_LAST_SPECIAL ? table.put : SPECIAL + (uint32_t)pc;
	if (frame < SPECIAL) {
		put_head(RECORD_FRAME);
		put_varint(frame);
		put_varint(pc);
		put_varint(1); // the module
		if (!commit())
			return 0;
	}
	table.nodes[slot].parent = parent;
	table.nodes[slot].frame = frame;
	table.nodes_left--;
	return slot + 1;
}

/* The site of the call's stack. STACKLESS: it has no frames, or there is no room for it. */
static uint32_t site_find(const struct call *call)
{
	uint32_t node = 0, site;

	if (call->first == call->end)
		return STACKLESS;
	if (call->outside && !(node = node_find(0, call->outside)))
		return STACKLESS;
	for (size_t i = call->end; i-- > call->first;)
		if (!(node = node_find(node, call->pcs[i])))
			return STACKLESS;
	site = table.nodes[node - 1].site;
	if (site)
		return site;
	site = table.header->sites;
	if (site > table.site_count)
		return STACKLESS;
	table.sites[site - 1].node = node;
	table.header->sites = site + 1;
	table.nodes[node - 1].site = site;
	return site;
}

/* In Thumb code the lowest bit of a return address is the processor's state. */
static uintptr_t strip(uintptr_t pc)
{
#if defined(__arm__)
	return pc & ~(uintptr_t)1;
#else
	return pc;
#endif
}

/* Takes the stack, from the function on that called this file. */
static void capture(struct call *call, uintptr_t caller)
{
	size_t max = MALLOW_EMBED_DEPTH + OWN_FRAMES, found = 0;

	caller = strip(caller);
	call->first = call->end = 0;
	if (table.options.backtrace)
		found = table.options.backtrace(call->pcs, max);
	for (; call->end < found && call->pcs[call->end] > PC_LAST_SPECIAL; call->end++)
		call->pcs[call->end] = strip(call->pcs[call->end]);
	while (call->first < call->end && call->pcs[call->first] != caller)
		call->first++;
	if (call->first >= OWN_FRAMES || call->first == call->end)
		call->first = 0;
	call->outside = found == max ? PC_TRUNCATED : 0;
	if (call->end > call->first + MALLOW_EMBED_DEPTH) {
		call->end = call->first + MALLOW_EMBED_DEPTH;
		call->outside = PC_TRUNCATED;
	}
	if (!call->end && caller) {
		call->pcs[call->end++] = caller;
		call->outside = table.options.backtrace ? PC_BROKEN : PC_TRUNCATED;
	}
}

/* Asks the callbacks, before the lock is taken. */
static void begin(struct call *call, uintptr_t caller)
{
	uint64_t start = table.header->start_ticks, ticks = now();

	call->time = time_pack(ticks > start ? ticks - start : 0);
	call->thread_name = NULL;
	call->thread = table.threads ? table.options.thread(&call->thread_name) : 0;
	if (call->thread > THREAD_MAX)
		call->thread = 0;
	capture(call, caller);
}

/* Sums. */

static void raise(volatile uint64_t *peak, uint64_t value)
{
	if (*peak < value)
		*peak = value;
}

static void count_thread(const struct call *call, uint64_t size)
{
	volatile struct thread *thread = &table.threads[call->thread];
	const char *name = call->thread_name;

	if (call->thread && !thread->state) {
		for (size_t i = 0; name && name[i] && i < sizeof(thread->name) - 1; i++)
			thread->name[i] = (uint8_t)name[i];
		thread->tid = call->thread;
		thread->state = 1; // it runs
		if (table.header->threads <= call->thread)
			table.header->threads = call->thread + 1;
	}
	thread->bytes += size;
	thread->calls++;
}

static void count(uint32_t number, const struct call *call, uint64_t size)
{
	volatile struct site *site = &table.sites[number - 1];

	if (!site->calls)
		site->first = call->time;
	if (site->calls == site->freed_calls)
		site->since = call->time;
	site->last = call->time;
	site->bytes += size;
	site->calls++;
	raise(&site->peak_calls, site->calls - site->freed_calls);
	raise(&site->peak_bytes, site->bytes - site->freed_bytes);
	if (table.threads)
		count_thread(call, size);
}

static void count_freed(const struct block *block)
{
	volatile struct site *site = &table.sites[(block->state >> SITE_SHIFT) - 1];
	uint32_t thread = (uint32_t)(block->state >> THREAD_SHIFT) & 1023;

	site->freed_bytes += block->size;
	site->freed_calls++;
	if (table.threads) {
		table.freed[thread].bytes += block->size;
		table.freed[thread].calls++;
	}
}

/* Blocks. An entry's state is stored last and cleared first: it says whether there is a block. */

/* The block's entry, or the free one where it belongs. */
static uint32_t block_slot(uint64_t address)
{
	uint32_t slot = home_of(address, table.block_count);

	while (table.blocks[slot].state && table.blocks[slot].address != address)
		slot = next_of(slot, table.block_count);
	return slot;
}

static void block_store(uint32_t slot, const struct block *block)
{
	table.blocks[slot].address = block->address;
	table.blocks[slot].size = block->size;
	table.blocks[slot].state = block->state;
}

/* How far a search goes from one slot to the other. */
static uint32_t distance(uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + table.block_count - from;
}

/*
 * Moves blocks into the gap whose searches would end there. While a block moves it is in no entry,
 * rather than in two.
 */
static void close_gap(uint32_t gap)
{
	uint32_t slot = next_of(gap, table.block_count);

	for (; table.blocks[slot].state; slot = next_of(slot, table.block_count)) {
		struct block block = table.blocks[slot];

		if (distance(home_of(block.address, table.block_count), slot) < distance(gap, slot))
			continue;
		table.blocks[slot].state = 0;
		block_store(gap, &block);
		gap = slot;
	}
}

/* Takes a block out of the table. The result's state is 0 if it was not there. */
static struct block block_take(const void *address)
{
	uint32_t slot = block_slot((uintptr_t)address);
	struct block block = table.blocks[slot];

	if (block.state) {
		table.blocks[slot].state = 0;
		close_gap(slot);
		table.blocks_left++;
	}
	return block;
}

/* false: there is no room. */
static bool block_put(const struct block *block)
{
	if (!table.blocks_left)
		return false;
	block_store(block_slot(block->address), block);
	table.blocks_left--;
	return true;
}

static void remove_locked(const void *address)
{
	struct block block = block_take(address);

	if (block.state)
		count_freed(&block);
}

static void add_locked(const void *address, size_t size, const struct call *call)
{
	struct block block = {(uintptr_t)address, 0, size};
	uint32_t site;

	remove_locked(address); // in case that somebody has freed it without us
	if (!table.blocks_left) {
		table.header->losses[LOSS_NO_MEMORY]++;
		return;
	}
	site = site_find(call);
	if (call->outside && table.options.backtrace)
		table.header->losses[call->outside == PC_BROKEN ? LOSS_BROKEN_STACKS
								: LOSS_TRUNCATED_STACKS]++;
	count(site, call, size);
	block.state =
		(uint64_t)site << SITE_SHIFT | (uint64_t)call->thread << THREAD_SHIFT | call->time;
	block_put(&block);
}

/* The API. */

/* Records a new block, and returns it. NULL: there is none. */
static void *add(void *block, size_t size, uintptr_t caller)
{
	struct call call;
	uintptr_t state;

	if (block && table.header) {
		begin(&call, caller);
		state = lock();
		add_locked(block, size, &call);
		unlock(state);
	}
	return block;
}

NOINLINE void *mallow_embed_malloc(size_t size)
{
	return add(table.options.allocate ? table.options.allocate(size) : NULL, size, CALLER());
}

NOINLINE void *mallow_embed_calloc(size_t count, size_t size)
{
	void *block = NULL;

	if (table.options.allocate && (!size || count <= SIZE_MAX / size))
		block = table.options.allocate(count * size);
	if (block)
		zero(block, count * size);
	return add(block, count * size, CALLER());
}

NOINLINE void *mallow_embed_memalign(size_t alignment, size_t size)
{
	return add(table.options.allocate_aligned ? table.options.allocate_aligned(alignment, size)
						  : NULL,
		   size, CALLER());
}

void mallow_embed_free(void *block)
{
	uintptr_t state;

	if (!block || !table.options.release)
		return;
	// Before the release, after which the address may be somebody else's.
	if (table.header) {
		state = lock();
		remove_locked(block);
		unlock(state);
	}
	table.options.release(block);
}

/* As realloc(), for an allocator without it. old: what the table knows of the block. */
static void *move(void *from, const struct block *old, size_t size)
{
	void *to = size && old->state ? table.options.allocate(size) : NULL;

	if (to)
		memcpy(to, from, old->size < size ? (size_t)old->size : size);
	if (to || !size)
		table.options.release(from);
	return to;
}

/*
 * The old block leaves the table before its address may become somebody else's. Its sums stay until
 * it is certain to be gone; if the allocator fails, it comes back.
 */
NOINLINE void *mallow_embed_realloc(void *from, size_t size)
{
	bool recorded = table.header != NULL;
	struct block old;
	struct call call;
	uintptr_t state;
	void *to;

	if (!table.options.allocate || !table.options.release)
		return NULL;
	if (!from)
		return add(table.options.allocate(size), size, CALLER());
	old.state = 0;
	if (recorded) {
		begin(&call, CALLER());
		state = lock();
		old = block_take(from);
		unlock(state);
	}
	to = table.options.reallocate ? table.options.reallocate(from, size)
				      : move(from, &old, size);
	if (recorded) {
		state = lock();
		if (old.state && (to || !size || !block_put(&old)))
			count_freed(&old);
		if (to)
			add_locked(to, size, &call);
		unlock(state);
	}
	return to;
}

/* Where the caller's frame pointer and the return address are, in words from a frame pointer. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define FRAME_NEXT   0
#define FRAME_RETURN 1
#define SAVE_RETURN()
#elif defined(__riscv)
#define FRAME_NEXT    (-2)
#define FRAME_RETURN  (-1)
#define SAVE_RETURN() __asm__ volatile("" : : : "ra") /* no leaf, which has another layout */
#endif

size_t mallow_embed_frame_pointers(uintptr_t *pcs, size_t max)
{
	size_t found = 0;
#if defined(FRAME_NEXT) && defined(__GNUC__)
	const uintptr_t *frame = __builtin_frame_address(0), *next;

	SAVE_RETURN();
	while (found < max) {
		pcs[found++] = frame[FRAME_RETURN];
		next = (const uintptr_t *)frame[FRAME_NEXT];
		if (next <= frame || (uintptr_t)next - (uintptr_t)frame > 65536 ||
		    (uintptr_t)next % sizeof(*next))
			break;
		frame = next;
	}
#else
	(void)pcs, (void)max;
#endif
	return found;
}

/* The start. */

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull

static uint64_t rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
	return rotate(sum + word * P2, 31) * P1;
}

/* XXH64, seed 0, of the bytes 0 to 55 and 64 to 87: the checksum of a chunk's head. */
static uint64_t checksum(const volatile uint8_t *head)
{
	static const unsigned int turns[4] = {1, 7, 12, 18};
	uint64_t sums[4] = {P1 + P2, P2, 0, 0 - P1}, words[10], hash = 0;

	for (unsigned int i = 0; i < 10; i++) {
		words[i] = 0;
		for (unsigned int byte = 8; byte-- > 0;)
			words[i] = words[i] << 8 | head[8 * i + (i < 7 ? 0 : 8) + byte];
	}
	for (unsigned int i = 0; i < 8; i++)
		sums[i % 4] = mix(sums[i % 4], words[i]);
	for (unsigned int i = 0; i < 4; i++)
		hash += rotate(sums[i], turns[i]);
	for (unsigned int i = 0; i < 4; i++)
		hash = (hash ^ mix(0, sums[i])) * P1 + P4;
	hash += sizeof(words);
	for (unsigned int i = 8; i < 10; i++)
		hash = rotate(hash ^ mix(0, words[i]), 27) * P1 + P4;
	hash = (hash ^ hash >> 33) * P2;
	hash = (hash ^ hash >> 29) * P3;
	return hash ^ hash >> 32;
}

/* Adds a chunk behind the one before. part 0: events. Entries follow the chunk's head. */
static volatile struct chunk *add_chunk(enum part part, size_t *end, size_t pages,
					uint32_t entry_size, uint64_t first)
{
	volatile struct chunk *chunk =
		(volatile struct chunk *)((volatile uint8_t *)table.header + *end);

	chunk->magic = CHUNK_MAGIC;
	chunk->kind = part == EVENTS ? 1 : 5;
	chunk->size = (uint32_t)pages * PAGE;
	chunk->flags = 1; // it stays where it is
	if (part != EVENTS) {
		chunk->stream = NO_STREAM;
		chunk->offset = *end;
		chunk->address = (uintptr_t)chunk;
		copy(chunk->id, table.id, sizeof(chunk->id));
		chunk->part = part;
		chunk->entry_size = entry_size;
		chunk->first = first;
		chunk->count = (chunk->size - sizeof(*chunk)) / entry_size;
		chunk->array = sizeof(*chunk);
		chunk->checksum = checksum((volatile uint8_t *)chunk);
	}
	*end += pages * PAGE;
	return chunk;
}

/* Divides the pages behind the header. Returns where the last chunk ends. */
static size_t add_chunks(size_t pages)
{
	size_t sixth = pages / 6 ? pages / 6 : 1, end = PAGE;
	volatile struct chunk *chunk;

	table.events = add_chunk(EVENTS, &end, sixth, 0, 0);
	chunk = add_chunk(NODES, &end, sixth, sizeof(struct node), 1);
	table.nodes = (volatile struct node *)(chunk + 1);
	table.node_count = (uint32_t)chunk->count;
	table.nodes_left = table.node_count - table.node_count / 8;
	chunk = add_chunk(SITES, &end, sixth, sizeof(struct site), 1);
	table.sites = (volatile struct site *)(chunk + 1);
	table.site_count = (uint32_t)chunk->count;
	if (table.options.thread) {
		chunk = add_chunk(THREADS, &end, 1, sizeof(struct thread), 0);
		table.threads = (volatile struct thread *)(chunk + 1);
		copy(table.threads->name, "(not known)", 11);
		chunk = add_chunk(FREED, &end, 1, sizeof(struct freed), 0);
		table.freed = (volatile struct freed *)(chunk + 1);
	}
	chunk = add_chunk(BLOCKS, &end, pages + 1 - end / PAGE, sizeof(struct block), 0);
	table.blocks = (volatile struct block *)(chunk + 1);
	table.block_count = (uint32_t)chunk->count;
	table.blocks_left = table.block_count - table.block_count / 8;
	return end;
}

/* The records with which the events begin. false: they do not fit. */
static bool put_records(void)
{
	const struct mallow_embed_options *options = &table.options;
	bool fits;

	put_head(RECORD_PLACE);
	put_varint(PAGE);
	put_varint((uintptr_t)table.events);
	put_bytes(table.id, 8);
	fits = commit();
	put_head(RECORD_PROCESS);
	put_varint(1); // the executable
	put_text(options->executable);
	fits = commit() && fits;
	put_head(RECORD_MODULE);
	put_varint(table.header->start_ticks << 1);
	put_varint(1); // its number
	put_varint(0);
	put_varint(options->bias);
	put_varint(options->start);
	put_varint(options->end ? options->end : UINTPTR_MAX);
	put_varint(options->build_id_size);
	put_bytes(options->build_id, options->build_id_size);
	put_text(options->executable);
	return commit() && fits;
}

/* The id of the options, or one of what may differ between runs, devices and builds. */
static void make_id(const void *memory)
{
	const uint64_t differs[3] = {now(), (uintptr_t)memory, table.options.build_id_size};
	uint8_t bytes[88];
	uint64_t hash;

	zero(bytes, sizeof(bytes));
	memcpy(bytes, differs, sizeof(differs));
	if (differs[2] >= 20)
		memcpy(bytes + sizeof(differs), table.options.build_id, 20);
	hash = checksum(bytes);
	memcpy(table.id, &hash, 8);
	memcpy(table.id + 8, differs, 8);
	if (table.options.id)
		memcpy(table.id, table.options.id, sizeof(table.id));
}

/* Sets all but the magic number. */
static void make_header(void)
{
	const uint16_t one = 1;
	volatile struct header *header = table.header;

	header->version_major = 1;
	header->version_minor = 6;
	header->size = PAGE;
	copy(header->id, table.id, sizeof(header->id));
	header->machine = MACHINE;
	header->pointer_size = sizeof(void *);
	header->clock = 2;                                // nanoseconds
	header->byte_order = *(const uint8_t *)&one == 0; // 1: big-endian
	header->flags = 32;                               // a live table
	header->start_ticks = header->start_monotonic_ns = header->base_ticks = now();
	header->nodes = table.node_count + 1;
	header->sites = STACKLESS + 1;
	header->threads = 1;
}

size_t mallow_embed_start(void *memory, size_t size, const struct mallow_embed_options *options)
{
	size_t pages = (size < MEMORY_MAX ? size : MEMORY_MAX) / PAGE, end;

	table.header = NULL;
	table.threads = NULL;
	table.put = 0;
	memcpy(&table.options, options, sizeof(*options));
	if (pages < MALLOW_EMBED_MEMORY_MIN / PAGE + (options->thread ? 2 : 0) ||
	    (uintptr_t)memory % 8)
		return 0;
	zero(memory, pages * PAGE);
	make_id(memory);
	table.header = memory;
	end = add_chunks(pages - 1);
	make_header();
	if (!put_records()) {
		table.header = NULL;
		return 0;
	}
	copy(table.header->magic, "\x89MLW\r\n\x1a\n", sizeof(table.header->magic));
	return end;
}
