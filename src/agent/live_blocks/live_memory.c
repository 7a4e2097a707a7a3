#include "agent/live_blocks/live_memory.h"

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_place.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/record/file.h"
#include "agent/record/recording.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "trace/checksum.h"

#define CHUNKS_MAX   8192
#define CHUNK_LEAVES 500 /* so many fit into the header's list */

#define PAUSE 1000

static struct {
	void *start;
	size_t size;
} chunks[CHUNKS_MAX]; // kept across fork: a child has them mapped

static uint32_t chunk_count;
static uint32_t lock;
static uint32_t refusals; // requests to refuse, because there was no memory a moment ago

static struct {
	struct live_chunk *chunk;
	uint64_t used;
} leaves; // the chunk that the next leaf comes from

/* Its magic number is turned around bit by bit, so that nobody takes it for a header. */
static void copy_header(char *copy)
{
	uint64_t magic = ~process->header->magic;

	if (process->header->magic != TRACE_MAGIC)
		return;
	memcpy(copy, process->header, LIVE_COPY_SIZE);
	memcpy(copy, &magic, sizeof(magic));
}

/* The rest of the chunk is set. offset: of the chunk in the file. */
static void publish_chunk(struct trace_chunk *chunk, size_t size, uint64_t offset)
{
	struct live_place *place = (void *)((char *)chunk + LIVE_PLACE_OFFSET);

	chunk->kind = TRACE_CHUNK_LIVE;
	chunk->size = (uint32_t)size;
	chunk->stream = TRACE_NO_STREAM;
	chunk->flags = TRACE_CHUNK_SLOT;
	// Two chunks are made before there is a header.
	if (((struct live_chunk *)((char *)chunk + LIVE_CHUNK_OFFSET))->part != LIVE_PART_HEADS)
		copy_header((char *)chunk + LIVE_COPY_OFFSET);
	place->offset = offset;
	place->address = (uintptr_t)chunk;
	memcpy(place->id, process_id, sizeof(place->id));
	// The checksum covers the magic number, which is stored last.
	struct trace_chunk head = *chunk;

	head.magic = TRACE_CHUNK_MAGIC;
	place->checksum = live_place_checksum(&head, (char *)chunk + LIVE_CHUNK_OFFSET);
	__atomic_store_n(&chunk->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

/* Whether it is worth trying. Without memory each event asks, and a try costs some system calls. */
static bool may_try(void)
{
	uint32_t left = __atomic_load_n(&refusals, __ATOMIC_RELAXED);

	if (likely(!left))
		return true;
	__atomic_store_n(&refusals, left - 1, __ATOMIC_RELAXED);
	return false;
}

static struct live_chunk *make_chunk(enum live_part part, uint32_t entry_size, uint64_t first,
				     uint64_t count)
{
	size_t size = bytes_round_up(LIVE_ARRAY_OFFSET + entry_size * count, arch_page());
	struct trace_chunk *chunk;
	struct live_chunk *live;
	uint64_t offset;

	if (chunk_count == CHUNKS_MAX)
		return NULL;
	chunk = file_map_sparse(&recording->file, size, &offset);
	if (!chunk) {
		refusals = PAUSE;
		return NULL;
	}
	chunks[chunk_count].start = chunk;
	chunks[chunk_count].size = size;
	live = (struct live_chunk *)((char *)chunk + LIVE_CHUNK_OFFSET);
	live->part = part;
	live->entry_size = entry_size;
	live->first = first;
	live->count = count;
	publish_chunk(chunk, size, offset);
	__atomic_store_n(&chunk_count, chunk_count + 1, __ATOMIC_RELEASE);
	return live;
}

static void *array_of(struct live_chunk *live)
{
	return (char *)live - LIVE_CHUNK_OFFSET + LIVE_ARRAY_OFFSET;
}

/* A request for an array or a leaf. */
struct wish {
	void **place;
	uint64_t first; /* the number of the first entry; of a leaf: its address */
	uint64_t count;
	uint32_t entry_size;
	unsigned int map;
	enum live_part part;
	bool leaf;
};

static uint32_t *make_leaf(uint64_t address, unsigned int map);

/* Under the lock. */
static void *make_wished(const struct wish *wish)
{
	struct live_chunk *made;

	if (wish->leaf)
		return make_leaf(wish->first, wish->map);
	made = make_chunk(wish->part, wish->entry_size, wish->first, wish->count);
	return made ? array_of(made) : NULL;
}

static void carry_out(void *argument)
{
	const struct wish *wish = argument;

	if (!lock_wait(&lock))
		return;
	if (!*wish->place)
		__atomic_store_n(wish->place, make_wished(wish), __ATOMIC_RELEASE);
	lock_release(&lock);
}

/* Carries out the request. Returns what is at the place then, perhaps another thread's. */
static void *get_wish(struct wish *wish)
{
	if (!may_try())
		return NULL;
	signal_bracket_run(carry_out, wish);
	return __atomic_load_n(wish->place, __ATOMIC_ACQUIRE);
}

void *live_memory_array(void *place, enum live_part part, uint32_t entry_size, uint64_t first,
			uint64_t count)
{
	return get_wish(&(struct wish){.place = place,
				       .part = part,
				       .entry_size = entry_size,
				       .first = first,
				       .count = count});
}

/* Under the lock. */
static uint32_t *make_leaf(uint64_t address, unsigned int map)
{
	struct live_chunk *live = leaves.chunk;
	uint64_t number = leaves.used;

	if (!live || number == live->count) {
		live = make_chunk(LIVE_PART_HEADS, LIVE_LEAF_SIZE, 0, CHUNK_LEAVES);
		if (!live)
			return NULL;
		leaves.chunk = live;
		number = 0;
	}
	leaves.used = number + 1;
	__atomic_store_n(&live->leaves[number], address | (map + 1), __ATOMIC_RELEASE);
	return (uint32_t *)array_of(live) + number * LIVE_LEAF_HEADS;
}

uint32_t *live_memory_leaf(uint32_t **place, uint64_t address, unsigned int map)
{
	return get_wish(&(struct wish){
		.place = (void **)place, .leaf = true, .first = address, .map = map});
}

void live_memory_empty(enum live_part part)
{
	uint32_t count = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		char *start = chunks[i].start;
		const struct live_chunk *live = (const void *)(start + LIVE_CHUNK_OFFSET);
		size_t pages = bytes_round_up(LIVE_ARRAY_OFFSET, arch_page());

		if (live->part != part)
			continue;
		// Where pages are larger, the array begins within one.
		memset(start + LIVE_ARRAY_OFFSET, 0, pages - LIVE_ARRAY_OFFSET);
		// From the file, too, since the mapping is shared.
		sys_madvise(start + pages, chunks[i].size - pages, MADV_REMOVE);
	}
}

void live_memory_forget(void)
{
	for (uint32_t i = 0; i < chunk_count; i++)
		own_place_unmap(chunks[i].start, chunks[i].size);
	chunk_count = 0;
	leaves.chunk = NULL;
	leaves.used = 0;
	refusals = 0;
	lock = 0; // its holder is not in the child
}

void live_memory_detach(void)
{
	for (uint32_t i = 0; i < chunk_count; i++)
		sys_mmap(chunks[i].start, chunks[i].size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
