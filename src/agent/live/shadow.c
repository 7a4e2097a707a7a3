#include "agent/live/shadow.h"

#include "agent/live/shadow_place.h"
#include "base/compiler.h"

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
	uint32_t *first = shadow_place_find(shadow, LIVE_PLANE_SMALL, address);

	if (first && near)
		note_near(near, address, first);
	return first;
}

static inline uint32_t *find_small(const struct shadow *shadow, struct shadow_near *near,
				   uint64_t address)
{
	uint32_t *first = near ? shadow_near(near, address) : NULL;

	return likely(first != NULL) ? first : find_small_slow(shadow, near, address);
}

/* Two words, which may lie in two pieces: the second is the entry of the next unit. */
static inline bool put_small(struct shadow *shadow, struct shadow_near *near, uint64_t address,
			     const struct shadow_block *block, struct shadow_block *stale)
{
	uint32_t *first = find_small(shadow, near, address);
	uint32_t *second, old;

	if (unlikely(!first))
		first = shadow_place_make(shadow, LIVE_PLANE_SMALL, address);
	if (unlikely(!first))
		return false;
	second = first + 1;
	if (unlikely(((uint64_t)second & ((1u << SHADOW_PAGE_BITS) - 1)) == 0)) {
		second = shadow_place_reach(shadow, LIVE_PLANE_SMALL, address + 16);
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

static inline bool take_small(const struct shadow *shadow, struct shadow_near *near,
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
		second = shadow_place_find(shadow, LIVE_PLANE_SMALL, address + 16);
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
	uint64_t *entry = address & 7 ? NULL : shadow_place_reach(shadow, LIVE_PLANE_FINE, address),
		 old;

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
	uint64_t *entry = address & 7 ? NULL : shadow_place_find(shadow, LIVE_PLANE_FINE, address);
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
		entry = shadow_place_reach(shadow, plane, address);
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
		struct live_large *entry = shadow_place_find(shadow, plane, address);
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
	uint32_t *owner =
		address & 15 ? NULL : shadow_place_find(shadow, LIVE_PLANE_SMALL, address);
	struct live_large *large;

	if (owner && __atomic_load_n(owner, __ATOMIC_RELAXED))
		return owner;
	large = find_large(shadow, address);
	if (large)
		return &large->owner;
	owner = address & 7 ? NULL : shadow_place_find(shadow, LIVE_PLANE_FINE, address);
	return owner && __atomic_load_n(owner, __ATOMIC_RELAXED) ? owner : NULL;
}

bool shadow_change_owner(const struct shadow *shadow, uint64_t address, uint32_t from, uint32_t to)
{
	uint32_t *owner = find_owner(shadow, address);

	return owner && __atomic_compare_exchange_n(owner, &from, to, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
}
