#include "agent/live/shadow.h"

#include <stddef.h>

#include "agent/live/live_memory.h"
#include "agent/pool.h"
#include "base/compiler.h"

#define always_inline static inline __attribute__((always_inline))

/* Where an entry is, or was to be. */
struct place {
	struct shadow_piece *piece;
	uint32_t offset; /* of the entry in it */
};

always_inline unsigned int span_bits(unsigned int plane)
{
	return 20u - live_planes[plane].entry_bits + live_planes[plane].unit_bits;
}

always_inline uint64_t piece_key(unsigned int plane, uint64_t address)
{
	return address >> span_bits(plane);
}

static size_t top_size(unsigned int plane)
{
	return (size_t)1 << (SHADOW_ADDRESS_BITS - span_bits(plane) - SHADOW_MIDDLE_BITS);
}

always_inline struct place place_in(struct shadow_middle *middle, unsigned int plane,
				    uint64_t address)
{
	const struct live_plane *form = &live_planes[plane];

	return (struct place){
		.piece = &middle->pieces[piece_key(plane, address) &
					 ((1u << SHADOW_MIDDLE_BITS) - 1)],
		.offset = (uint32_t)(address >> form->unit_bits << form->entry_bits) &
			  (LIVE_PIECE_SIZE - 1),
	};
}

always_inline uint64_t page_bit(const struct place *place)
{
	return UINT64_C(1) << (place->offset >> SHADOW_PAGE_BITS & 63);
}

always_inline uint64_t *page_word(const struct place *place)
{
	return &place->piece->touched[place->offset >> SHADOW_PAGE_BITS >> 6];
}

/* The entry for reading, or NULL: nothing was ever written there. */
always_inline void *find(const struct shadow *shadow, unsigned int plane, uint64_t address)
{
	struct shadow_middle **top, *middle;
	struct place place;

	if (unlikely(address >> SHADOW_ADDRESS_BITS))
		return NULL;
	top = __atomic_load_n(&shadow->tops[plane], __ATOMIC_ACQUIRE);
	middle = top ? __atomic_load_n(&top[piece_key(plane, address) >> SHADOW_MIDDLE_BITS],
				       __ATOMIC_ACQUIRE)
		     : NULL;
	if (!middle)
		return NULL;
	place = place_in(middle, plane, address);
	if (!(__atomic_load_n(page_word(&place), __ATOMIC_ACQUIRE) & page_bit(&place)))
		return NULL;
	return __atomic_load_n(&place.piece->entries, __ATOMIC_RELAXED) + place.offset;
}

/* What a pointer leads to, made if it is not there yet. Of several makers the first counts. */
static void *reach(void *pointer, size_t size)
{
	void **at = pointer, *there = __atomic_load_n(at, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = pool_allocate(size);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(at, &there, made, false, __ATOMIC_RELEASE,
					__ATOMIC_ACQUIRE))
		return made;
	pool_release(made, size);
	return there;
}

/* The entry for writing. NULL: no memory. */
static never_inline void *make_slow(struct shadow *shadow, unsigned int plane, uint64_t address)
{
	struct shadow_middle **top, *middle;
	struct place place;
	uint8_t *entries;

	if (address >> SHADOW_ADDRESS_BITS)
		return NULL;
	top = reach(&shadow->tops[plane], top_size(plane) * sizeof(*top));
	middle = top ? reach(&top[piece_key(plane, address) >> SHADOW_MIDDLE_BITS], sizeof(*middle))
		     : NULL;
	if (!middle)
		return NULL;
	place = place_in(middle, plane, address);
	entries = __atomic_load_n(&place.piece->entries, __ATOMIC_ACQUIRE);
	if (!entries)
		entries = live_memory_piece(&place.piece->entries,
					    piece_key(plane, address) << span_bits(plane), plane);
	if (!entries)
		return NULL;
	__atomic_fetch_or(page_word(&place), page_bit(&place), __ATOMIC_RELEASE);
	return entries + place.offset;
}

always_inline void *reach_entry(struct shadow *shadow, unsigned int plane, uint64_t address)
{
	void *entry = find(shadow, plane, address);

	return likely(entry != NULL) ? entry : make_slow(shadow, plane, address);
}

/* A signal handler may come in between: it finds the page without a key. */
static void note_near(struct shadow_near *near, uint64_t address, void *first)
{
	uint64_t key = (address >> SHADOW_NEAR_BITS) + 1;
	__typeof__(near->pages[0]) *page = &near->pages[key % SHADOW_NEAR_PAGES];

	__atomic_store_n(&page->key, 0, __ATOMIC_RELAXED);
	compiler_barrier();
	page->page = (uint8_t *)((uint64_t)first & ~(((uint64_t)1 << SHADOW_PAGE_BITS) - 1));
	compiler_barrier();
	__atomic_store_n(&page->key, key, __ATOMIC_RELAXED);
}

static never_inline uint32_t *find_small_slow(const struct shadow *shadow, struct shadow_near *near,
					      uint64_t address)
{
	uint32_t *first = find(shadow, LIVE_PLANE_SMALL, address);

	if (first && near)
		note_near(near, address, first);
	return first;
}

always_inline uint32_t *find_small(const struct shadow *shadow, struct shadow_near *near,
				   uint64_t address)
{
	uint32_t *first = near ? shadow_near(near, address) : NULL;

	return likely(first != NULL) ? first : find_small_slow(shadow, near, address);
}

/* Two words, which may lie in two pieces: the second is the entry of the next unit. */
always_inline bool put_small(struct shadow *shadow, struct shadow_near *near, uint64_t address,
			     const struct shadow_block *block, struct shadow_block *stale)
{
	uint32_t *first = find_small(shadow, near, address);
	uint32_t *second, old;

	if (unlikely(!first))
		first = make_slow(shadow, LIVE_PLANE_SMALL, address);
	if (unlikely(!first))
		return false;
	second = first + 1;
	if (unlikely(((uint64_t)second & ((1u << SHADOW_PAGE_BITS) - 1)) == 0)) {
		second = reach_entry(shadow, LIVE_PLANE_SMALL, address + 16);
		if (!second)
			return false;
	}
	old = __atomic_load_n(first, __ATOMIC_RELAXED);
	if (unlikely(old))
		shadow_get_small(stale, old, __atomic_load_n(second, __ATOMIC_RELAXED));
	__atomic_store_n(second, shadow_second_word(block), __ATOMIC_RELAXED);
	__atomic_store_n(first, block->owner, __ATOMIC_RELEASE);
	return true;
}

always_inline bool take_small(const struct shadow *shadow, struct shadow_near *near,
			      uint64_t address, struct shadow_block *ret)
{
	uint32_t *first = find_small(shadow, near, address), *second, owner;

	if (!first)
		return false;
	owner = __atomic_load_n(first, __ATOMIC_RELAXED);
	if (!owner)
		return false;
	second = first + 1;
	if (unlikely(((uint64_t)second & ((1u << SHADOW_PAGE_BITS) - 1)) == 0)) {
		second = find(shadow, LIVE_PLANE_SMALL, address + 16);
		if (!second)
			return false;
	}
	shadow_get_small(ret, owner, __atomic_load_n(second, __ATOMIC_RELAXED));
	__atomic_store_n(first, 0, __ATOMIC_RELAXED);
	__atomic_store_n(second, 0, __ATOMIC_RELAXED);
	return true;
}

static bool put_fine(struct shadow *shadow, uint64_t address, const struct shadow_block *block,
		     struct shadow_block *stale)
{
	uint64_t *entry = address & 7 ? NULL : reach_entry(shadow, LIVE_PLANE_FINE, address), old;

	if (!entry)
		return false;
	old = __atomic_load_n(entry, __ATOMIC_RELAXED);
	if (old)
		shadow_get_small(stale, (uint32_t)old, (uint32_t)(old >> 32));
	__atomic_store_n(entry, (uint64_t)shadow_second_word(block) << 32 | block->owner,
			 __ATOMIC_RELEASE);
	return true;
}

static bool take_fine(const struct shadow *shadow, uint64_t address, struct shadow_block *ret)
{
	uint64_t *entry = address & 7 ? NULL : find(shadow, LIVE_PLANE_FINE, address);
	uint64_t old = entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : 0;

	if (!old)
		return false;
	shadow_get_small(ret, (uint32_t)old, (uint32_t)(old >> 32));
	ret->fine = true;
	__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
	return true;
}

/* The plane of the largest unit that a block of that size, which is no small one, fills. */
static unsigned int plane_of(uint64_t size)
{
	unsigned int plane = LIVE_PLANE_LARGE;

	while (plane + 1 < LIVE_PLANES && size >> live_planes[plane + 1].unit_bits)
		plane++;
	return plane;
}

static uint64_t start_in_unit(unsigned int plane, uint64_t address)
{
	return (address & ((UINT64_C(1) << live_planes[plane].unit_bits) - 1)) >> 3;
}

static struct shadow_block large_block(const struct live_large *entry)
{
	return (struct shadow_block){
		.owner = __atomic_load_n(&entry->owner, __ATOMIC_RELAXED),
		.time = __atomic_load_n(&entry->time, __ATOMIC_RELAXED),
		.size = __atomic_load_n(&entry->extent, __ATOMIC_RELAXED) >> LIVE_START_BITS,
	};
}

static bool put_large(struct shadow *shadow, uint64_t address, const struct shadow_block *block,
		      struct shadow_block *stale)
{
	unsigned int plane = plane_of(block->size);
	struct live_large *entry = NULL;

	// A small one whose end was not seen would be found first.
	if (!(address & 15) && take_small(shadow, NULL, address, stale))
		return put_large(shadow, address, block, &(struct shadow_block){0});
	if (!(address & 7) && block->size >> (64 - LIVE_START_BITS) == 0)
		entry = reach_entry(shadow, plane, address);
	if (!entry)
		return false;
	*stale = large_block(entry);
	__atomic_store_n(&entry->time, block->time, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->extent,
			 block->size << LIVE_START_BITS | start_in_unit(plane, address),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&entry->owner, block->owner, __ATOMIC_RELEASE);
	return true;
}

/* The large block that begins there. NULL: none does. */
static struct live_large *find_large(const struct shadow *shadow, uint64_t address)
{
	for (unsigned int plane = LIVE_PLANE_LARGE; plane < LIVE_PLANES && !(address & 7);
	     plane++) {
		struct live_large *entry = find(shadow, plane, address);
		uint64_t start;

		if (!entry || !__atomic_load_n(&entry->owner, __ATOMIC_RELAXED))
			continue;
		start = __atomic_load_n(&entry->extent, __ATOMIC_RELAXED) &
			((1u << LIVE_START_BITS) - 1);
		if (start == start_in_unit(plane, address))
			return entry;
	}
	return NULL;
}

bool shadow_put(struct shadow *shadow, struct shadow_near *near, uint64_t address, uint64_t usable,
		const struct shadow_block *block, struct shadow_block *stale)
{
	stale->owner = 0;
	if (likely(block->size < LIVE_LARGE_MIN)) {
		if (likely(!(address & 15) && usable > 16))
			return put_small(shadow, near, address, block, stale);
		return put_fine(shadow, address, block, stale);
	}
	return put_large(shadow, address, block, stale);
}

bool shadow_take(const struct shadow *shadow, struct shadow_near *near, uint64_t address,
		 struct shadow_block *ret)
{
	struct live_large *entry;

	if (likely(!(address & 15)) && likely(take_small(shadow, near, address, ret)))
		return true;
	entry = find_large(shadow, address);
	if (!entry)
		return take_fine(shadow, address, ret);
	*ret = large_block(entry);
	__atomic_store_n(&entry->owner, 0, __ATOMIC_RELAXED);
	return true;
}

/* The word of its owner, which is the lower half of a fine entry. NULL: there is no block. */
static uint32_t *find_owner(const struct shadow *shadow, uint64_t address)
{
	uint32_t *owner = address & 15 ? NULL : find(shadow, LIVE_PLANE_SMALL, address);
	struct live_large *large;

	if (owner && __atomic_load_n(owner, __ATOMIC_RELAXED))
		return owner;
	large = find_large(shadow, address);
	if (large)
		return &large->owner;
	owner = address & 7 ? NULL : find(shadow, LIVE_PLANE_FINE, address);
	return owner && __atomic_load_n(owner, __ATOMIC_RELAXED) ? owner : NULL;
}

bool shadow_change_owner(const struct shadow *shadow, uint64_t address, uint32_t from, uint32_t to)
{
	uint32_t *owner = find_owner(shadow, address);

	return owner && __atomic_compare_exchange_n(owner, &from, to, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
}

void shadow_release(struct shadow *shadow)
{
	for (unsigned int plane = 0; plane < LIVE_PLANES; plane++) {
		struct shadow_middle **top = shadow->tops[plane];

		for (size_t i = 0; top && i < top_size(plane); i++)
			if (top[i])
				pool_release(top[i], sizeof(*top[i]));
		if (top)
			pool_release(top, top_size(plane) * sizeof(*top));
		shadow->tops[plane] = NULL;
	}
}
