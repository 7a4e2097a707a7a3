#include "agent/live/sites.h"

#include <stddef.h>

#include "agent/live/live_memory.h"
#include "base/compiler.h"

/* An entry by its number, its chunk made where need be. NULL: no memory. */
static struct live_node *reach_node(struct sites *sites, uint32_t node)
{
	struct live_node **place = &sites->nodes[node >> SITES_NODE_BITS];
	struct live_node *chunk = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (unlikely(!chunk))
		chunk = live_memory_array(place, LIVE_PART_NODES, sizeof(*chunk),
					  node & ~((1u << SITES_NODE_BITS) - 1),
					  1u << SITES_NODE_BITS);
	return chunk ? &chunk[node & ((1u << SITES_NODE_BITS) - 1)] : NULL;
}

static struct live_site *reach_site(struct sites *sites, uint32_t site)
{
	struct live_site **place = &sites->sites[site >> SITES_SITE_BITS];
	struct live_site *chunk = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (unlikely(!chunk))
		chunk = live_memory_array(place, LIVE_PART_SITES, sizeof(*chunk),
					  site & ~((1u << SITES_SITE_BITS) - 1),
					  1u << SITES_SITE_BITS);
	return chunk ? &chunk[site & ((1u << SITES_SITE_BITS) - 1)] : NULL;
}

/* The next number below max, 0: there is none left. The count stays within its bounds. */
static uint32_t take_number(uint32_t *count, uint32_t max)
{
	uint32_t number = __atomic_load_n(count, __ATOMIC_RELAXED);

	do
		if (number >= max)
			return 0;
	while (!__atomic_compare_exchange_n(count, &number, number + 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return number;
}

bool sites_begin(struct sites *sites, struct live_header *header)
{
	header->nodes = 1;
	header->sites = SITES_STACKLESS + 1;
	return reach_node(sites, 1) && reach_site(sites, SITES_STACKLESS);
}

static uint64_t hash_of(uint32_t parent, uint32_t frame)
{
	uint64_t hash = ((uint64_t)parent << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);

	return (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* By the hash's highest bits. */
static uint32_t *head_of(uint32_t *heads, uint32_t count, uint64_t hash)
{
	return &heads[hash >> (64 - __builtin_ctz(count))];
}

/* From node on until the one before `end`. 0: not there. */
static uint32_t search(const struct sites *sites, uint32_t node, uint32_t end, uint32_t parent,
		       uint32_t frame)
{
	while (node && node != end) {
		const struct live_node *entry = sites_node_at(sites, node);

		if (entry->parent == parent && entry->frame == frame)
			return node;
		node = entry->next;
	}
	return 0;
}

static never_inline uint32_t add_slow(struct sites *sites, struct live_header *header,
				      uint32_t *head, uint32_t first, uint32_t parent,
				      uint32_t frame)
{
	uint32_t node = take_number(&header->nodes, LIVE_NODES), found;
	struct live_node *entry = node ? reach_node(sites, node) : NULL;

	if (!entry)
		return 0;
	entry->parent = parent;
	entry->frame = frame;
	entry->next = first;
	while (!__atomic_compare_exchange_n(head, &first, node, false, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE)) {
		// Others came in between, perhaps with this very one: then the number is wasted.
		found = search(sites, first, entry->next, parent, frame);
		if (found)
			return found;
		entry->next = first;
	}
	return node;
}

/* In the chain of a head; *first receives where that begins. 0: not there. */
static uint32_t find(const struct sites *sites, const uint32_t *head, uint32_t parent,
		     uint32_t frame, uint32_t *first)
{
	*first = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	return search(sites, *first, 0, parent, frame);
}

/* Two threads may make the same node when the first heads come to be too few: both of them stay. */
uint32_t sites_node(struct sites *sites, struct live_header *header, uint32_t parent,
		    uint32_t frame)
{
	uint64_t hash = hash_of(parent, frame);
	uint32_t *head = head_of(sites->heads, SITES_HEADS, hash), *more = NULL;
	uint32_t first = 0, more_first = 0, found = 0;

	if (__atomic_load_n(&header->nodes, __ATOMIC_RELAXED) > SITES_HEADS) {
		more = head_of(sites->more_heads, SITES_MORE_HEADS, hash);
		found = find(sites, more, parent, frame, &more_first);
	}
	if (!found)
		found = find(sites, head, parent, frame, &first);
	if (likely(found))
		return found;
	return more ? add_slow(sites, header, more, more_first, parent, frame)
		    : add_slow(sites, header, head, first, parent, frame);
}

static never_inline uint32_t add_site_slow(struct sites *sites, struct live_header *header,
					   struct live_node *entry, uint32_t node)
{
	uint32_t number = take_number(&header->sites, SITES_UNKNOWN), none = 0;
	struct live_site *site = number ? reach_site(sites, number) : NULL;

	if (!site)
		return 0;
	site->node = node;
	// Where another thread came first this one stays without calls.
	return __atomic_compare_exchange_n(&entry->site, &none, number, false, __ATOMIC_RELEASE,
					   __ATOMIC_ACQUIRE)
		       ? number
		       : none;
}

uint32_t sites_of_node(struct sites *sites, struct live_header *header, uint32_t node)
{
	struct live_node *entry = sites_node_at(sites, node);
	uint32_t site = __atomic_load_n(&entry->site, __ATOMIC_ACQUIRE);

	return likely(site) ? site : add_site_slow(sites, header, entry, node);
}

never_inline void sites_raise_slow(uint64_t *peak, uint64_t value)
{
	uint64_t before = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (value > before && !__atomic_compare_exchange_n(peak, &before, value, true,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
