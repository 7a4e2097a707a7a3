#include "agent/live/shadow_place.h"

#include "agent/live/live_memory.h"
#include "agent/pool.h"

/* Where an entry is, or was to be. */
struct place {
	struct shadow_piece *piece;
	uint32_t offset; /* of the entry in it */
};

static inline unsigned int span_bits(unsigned int plane)
{
	return 20u - live_planes[plane].entry_bits + live_planes[plane].unit_bits;
}

static inline uint64_t piece_key(unsigned int plane, uint64_t address)
{
	return address >> span_bits(plane);
}

static size_t top_size(unsigned int plane)
{
	return (size_t)1 << (SHADOW_ADDRESS_BITS - span_bits(plane) - SHADOW_MIDDLE_BITS);
}

static inline struct place place_in(struct shadow_middle *middle, unsigned int plane,
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

static inline uint64_t page_bit(const struct place *place)
{
	return UINT64_C(1) << (place->offset >> SHADOW_PAGE_BITS & 63);
}

static inline uint64_t *page_word(const struct place *place)
{
	return &place->piece->touched[place->offset >> SHADOW_PAGE_BITS >> 6];
}

void *shadow_place_find(const struct shadow *shadow, unsigned int plane, uint64_t address)
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

void *shadow_place_make(struct shadow *shadow, unsigned int plane, uint64_t address)
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

void *shadow_place_reach(struct shadow *shadow, unsigned int plane, uint64_t address)
{
	void *entry = shadow_place_find(shadow, plane, address);

	return likely(entry != NULL) ? entry : shadow_place_make(shadow, plane, address);
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
