/*
 * The kernel's stack at an allocation, and its number in the table of stacks.
 *
 * Walking the stack is what costs: 3.4 us of the 3.8 us that an allocation took when each was
 * walked. Most allocations come by a way that was walked before. So it is remembered where on the
 * stack the return addresses of a way lie:
 *
 *	context -> | … | to F | … | to E | … … | to D | …      the words of the stack, upwards
 *	places:          3          9            17
 *
 * The next time that the same function allocates at the same depth, the words at these places are
 * compared. A return address, and where it lies, say where the next one is, so the same words are
 * the same way. This is no proof where a function's frame has no fixed size, or where a copy of an
 * address, left by an earlier call, was taken for its place. So one of many is walked all the same:
 * a way that turns out to be another is not remembered any more, and counted.
 */
#ifndef MALLOW_EBPF_BPF_KERNEL_STACK_BPF_H
#define MALLOW_EBPF_BPF_KERNEL_STACK_BPF_H

#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf/kernel_types.bpf.h"
#include "ebpf/bpf/outstanding.bpf.h"

#include <bpf/bpf_core_read.h>

/* How often the taking of a stack can be interrupted, each time by another that takes one. */
#define SCRATCHES 4

/* Words of the stack that are looked at. Ways that are longer are walked each time. */
#define WORDS_MAX 512

/* The verifiers of older kernels forget that a number is not 0: then one less is any number. */
#define FRAMES_MASK 127
_Static_assert(FRAMES_MASK <= KERNEL_FRAMES_MAX, "an index is within the scratch");

/* Ways that a processor remembers, and the frames of one. */
#define WAYS       1024
#define WAY_FRAMES 60

/* One of so many is walked, to check what is remembered. */
#define CHECK_EVERY 256

/* Frames of the tracing and of the allocator, at most, before that of its caller. */
#define ALLOCATOR_FRAMES_MAX 12

/* The kernel's stacks are aligned to their size. */
#define STACK_SIZE 16384

struct scratch {
	const volatile void *context;
	uint64_t caller; /* of the allocator's function; 0: unknown */
	uint64_t source;
	uint64_t frames[KERNEL_FRAMES_MAX]; /* behind the source: as they are stored */
	uint64_t words[WORDS_MAX];
	/* Of the search for the places of a way. */
	uint32_t frame_count, next; /* of `frames`: all, and the one that is sought */
	uint32_t word_count;
};

struct scratches {
	uint32_t busy[SCRATCHES];
	struct scratch list[SCRATCHES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratches);
} scratches SEC(".maps");

struct way {
	uint64_t key;  /* of caller, source and depth */
	uint64_t hash; /* of the words at the places, and of `stack` */
	uint32_t stack;
	uint32_t hits;
	uint32_t count; /* of places; 0: it cannot be remembered */
	uint16_t places[WAY_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WAYS);
	__type(key, uint32_t);
	__type(value, struct way);
} ways SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CACHES_MAX);
	__type(key, uint64_t);
	__type(value, struct cache);
} caches SEC(".maps");

const volatile struct kernel_settings kernel = {0};
struct kernel_losses kernel_losses = {0};

/*
 * What is known of a cache, with its name at least. Called when a stack is new, or an object is
 * freed that is in no table: not often. NULL: there are too many caches.
 */
static __always_inline struct cache *known_cache(uint64_t key)
{
	const struct kmem_cache *cache = (const void *)key;
	struct cache *known = bpf_map_lookup_elem(&caches, &key);
	struct cache value = {};

	if (known)
		return known;
	bpf_probe_read_kernel_str(value.name, sizeof(value.name), BPF_CORE_READ(cache, name));
	bpf_map_update_elem(&caches, &key, &value, BPF_NOEXIST);
	return bpf_map_lookup_elem(&caches, &key);
}

static __always_inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Walks the kernel's stack into the scratch. Returns how many frames it has. */
static __always_inline uint32_t walk(struct scratch *scratch, const volatile void *context)
{
	uint32_t room = settings.depth * 8;
	long size;

	if (room > sizeof(scratch->frames))
		room = sizeof(scratch->frames);
	size = bpf_get_stack((void *)context, scratch->frames, room, 0);
	return size > 0 ? (uint32_t)size / 8 : 0;
}

/*
 * The number of the stack in the scratch. A global function, like the other ones with a loop: the
 * verifier looks at it once, and not for each way out of the loop before it (2.4 s).
 */
__noinline uint32_t number_of(struct scratch *scratch, uint32_t frames)
{
	uint32_t end = frames >= settings.depth ? STACK_TOO_DEEP : STACK_WHOLE;
	const uint32_t *known;
	uint64_t hash;

	if (!scratch)
		return STACK_NONE;
	hash = scratch->source;
	for (uint32_t i = 0; i < KERNEL_FRAMES_MAX && i < frames; i++)
		hash = mix(hash, scratch->frames[i]);
	known = bpf_map_lookup_elem(&stack_ids, &hash);
	if (known)
		return *known;
	if (scratch->source > SOURCE_LAST)
		known_cache(scratch->source);
	return stack_number(hash, &scratch->source, frames + 1, end);
}

/* Reads the words of the stack from the context on, up to the last place of the way. */
static __always_inline bool read_words(struct scratch *scratch, uint32_t words)
{
	// Through memory: to the verifier the context is no number.
	uint64_t from = *(volatile uint64_t *)&scratch->context;

	if (words > WORDS_MAX)
		words = WORDS_MAX;
	return !bpf_probe_read_kernel(scratch->words, words * 8, (const void *)from);
}

/* The hash of the words at a way's places. */
__noinline uint64_t hash_of(struct scratch *scratch, struct way *way)
{
	uint64_t hash = 0;

	if (!scratch || !way)
		return 0;
	for (uint32_t i = 0; i < WAY_FRAMES && i < way->count; i++)
		hash = mix(hash, scratch->words[way->places[i] & (WORDS_MAX - 1)]);
	return hash;
}

/*
 * The search for the frames among the words. Its numbers are in the scratch and in the way, not
 * here: the verifier would follow each number that they can have.
 */
struct placing {
	struct scratch *scratch;
	struct way *way;
};

/*
 * Finds the frames in their order. A copy of an address, left by an earlier call, may lie below its
 * true place and be found first: then the true one comes before the next frame, and is a place,
 * too. Not so before the outermost frame: there the kernel leaves a gap of random size in each
 * system call, with changing copies in it.
 */
static long place_word(uint32_t index, struct placing *placing)
{
	struct scratch *scratch = placing->scratch;
	uint32_t count = placing->way->count, next = scratch->next;
	uint64_t word;

	if (index >= scratch->word_count || index >= WORDS_MAX || count >= WAY_FRAMES ||
	    next >= scratch->frame_count || next >= KERNEL_FRAMES_MAX)
		return 1;
	word = scratch->words[index];
	if (word == scratch->frames[next])
		scratch->next = next + 1;
	else if (!count || next + 1 >= scratch->frame_count || !next ||
		 word != scratch->frames[(next - 1) & FRAMES_MASK])
		return 0;
	placing->way->places[count] = (uint16_t)index;
	placing->way->count = count + 1;
	return 0;
}

/* How many words up to the end of the stack. */
static __always_inline uint32_t words_left(const struct scratch *scratch)
{
	uint64_t from = *(volatile uint64_t *)&scratch->context;

	return (uint32_t)(STACK_SIZE - (from & (STACK_SIZE - 1))) / 8;
}

/*
 * Remembers the way of the stack in the scratch, from the caller of the allocator's function on. An
 * interrupt may use it meanwhile: its key is 0 until it is complete, or cannot be found.
 */
__noinline uint32_t remember(struct scratch *scratch, struct way *way, uint64_t key,
			     uint32_t frames, uint32_t number)
{
	struct placing placing = {scratch, way};
	uint32_t first = 0;

	if (!scratch || !way)
		return 0;
	way->key = 0;
	way->count = 0;
	way->hits = 0;
	way->stack = number;
	for (uint32_t i = 0; i < ALLOCATOR_FRAMES_MAX; i++)
		if (scratch->frames[first] != scratch->caller)
			first = i + 1;
	scratch->next = first;
	scratch->frame_count = frames;
	scratch->word_count = words_left(scratch);
	if (read_words(scratch, scratch->word_count) && number != STACK_NONE &&
	    frames < settings.depth) {
		bpf_loop(WORDS_MAX, place_word, &placing, 0);
		way->hash = mix(hash_of(scratch, way), number);
	}
	// A path that continues on another stack, or is too long, is not remembered.
	if (scratch->next != frames || way->count >= WAY_FRAMES)
		way->count = 0;
	way->key = key;
	return 0;
}

/*
 * Whether the stack is the one that came this way before, and has that number. An interrupt may
 * change the way meanwhile: then the hash does not fit.
 */
static __always_inline bool is_way(struct scratch *scratch, struct way *way, uint32_t number)
{
	uint32_t last = way->count - 1;

	return last < WAY_FRAMES && read_words(scratch, way->places[last] + 1) &&
	       mix(hash_of(scratch, way), number) == way->hash;
}

static __always_inline uint32_t take_stack_into(struct scratch *scratch,
						const volatile void *context, uint64_t source,
						uint64_t caller)
{
	uint32_t number, frames, index, expected = STACK_NONE;
	struct way *way = NULL;
	uint64_t key;

	scratch->caller = caller;
	// Through memory: to the verifier the address of a cache is no number.
	*(volatile uint64_t *)&scratch->source = source;
	*(const volatile void *volatile *)&scratch->context = context;
	key = mix(mix(*(volatile uint64_t *)&scratch->source, caller), words_left(scratch));
	index = key % WAYS;
	if (caller)
		way = bpf_map_lookup_elem(&ways, &index);
	if (way && way->key == key) {
		// Read first: an interrupt may change the way meanwhile, and then it does not
		// match.
		number = *(volatile uint32_t *)&way->stack;
		if (!way->count)
			way = NULL;
		else if (is_way(scratch, way, number))
			expected = number;
		if (expected != STACK_NONE && ++way->hits % CHECK_EVERY)
			return number;
	}
	frames = walk(scratch, context);
	number = number_of(scratch, frames);
	if (!way)
		return number;
	if (expected == STACK_NONE) {
		remember(scratch, way, key, frames, number);
	} else if (number != expected) {
		count(&kernel_losses.mistaken);
		way->count = 0;
	}
	return number;
}

/*
 * The number of the stack that allocates from this source. caller: where the allocator's function
 * returns to; 0: unknown. STACK_NONE: the stack is lost, and counted.
 */
static __always_inline uint32_t take_stack(const volatile void *context, uint64_t source,
					   uint64_t caller)
{
	uint32_t zero = 0;
	struct scratches *mine = bpf_map_lookup_elem(&scratches, &zero);
	uint32_t number;

	if (!mine || !settings.depth)
		return STACK_NONE;
	// A flag for each, no level: a program that was preempted may end before a later one.
	for (uint32_t i = 0; i < SCRATCHES; i++) {
		if (__sync_lock_test_and_set(&mine->busy[i], 1))
			continue;
		number = take_stack_into(&mine->list[i], context, source, caller);
		__sync_lock_test_and_set(&mine->busy[i], 0);
		return number;
	}
	count(&kernel_losses.scratch);
	return STACK_NONE;
}

#endif
