#include "agent/live/sites.h"

#include <stddef.h>

#include "agent/ground/clock.h"
#include "agent/live_blocks/live_memory.h"
#include "base/compiler.h"

/* The node of that number. Makes its chunk if need be. NULL: no memory. */
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

/* Takes the next number below max; 0: there is none left. The count never exceeds max. */
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

void sites_release(struct sites *sites)
{
	stack_index_release(&sites->index);
}

/* The index of a head: the highest bits of the hash. */
static uint32_t head_index(uint32_t count, uint64_t hash)
{
	return (uint32_t)(hash >> (64 - __builtin_ctz(count)));
}

/* Whether new nodes go into more_heads. */
static bool has_more_heads(const struct live_header *header)
{
	return __atomic_load_n(&header->nodes, __ATOMIC_RELAXED) > SITES_HEADS;
}

void sites_expect_node(const struct sites *sites, const struct live_header *header, uint64_t hash)
{
	__builtin_prefetch(has_more_heads(header)
				   ? &sites->more_heads[head_index(SITES_MORE_HEADS, hash)]
				   : &sites->heads[head_index(SITES_HEADS, hash)],
			   1);
}

/* Searches a chain from node on, up to `end`. 0: not there. */
static uint32_t search_chain(const struct sites *sites, uint32_t node, uint32_t end,
			     uint32_t parent, uint32_t frame)
{
	while (node && node != end) {
		const struct live_node *entry = sites_node_at(sites, node);

		if (entry->parent == parent && entry->frame == frame)
			return node;
		node = entry->next;
	}
	return 0;
}

/* Searches the chain of a head. 0: not there. */
static uint32_t find_node(const struct sites *sites, const uint32_t *head, uint32_t parent,
			  uint32_t frame)
{
	return search_chain(sites, __atomic_load_n(head, __ATOMIC_ACQUIRE), 0, parent, frame);
}

/* Two threads may make the same node at once: both nodes stay. */
static uint32_t add_node(struct sites *sites, struct live_header *header, uint32_t *head,
			 uint32_t parent, uint32_t frame)
{
	uint32_t node = take_number(&header->nodes, LIVE_NODES);
	struct live_node *entry = node ? reach_node(sites, node) : NULL;

	if (!entry)
		return 0;
	entry->parent = parent;
	entry->frame = frame;
	entry->next = __atomic_load_n(head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(head, &entry->next, node, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return node;
}

uint32_t sites_node(struct sites *sites, struct live_header *header, uint64_t hash, uint32_t parent,
		    uint32_t frame, bool *made)
{
	uint32_t *head = &sites->heads[head_index(SITES_HEADS, hash)], found = 0;
	uint32_t *more = has_more_heads(header)
				 ? &sites->more_heads[head_index(SITES_MORE_HEADS, hash)]
				 : NULL;

	if (!*made && more)
		found = find_node(sites, more, parent, frame);
	if (!*made && !found)
		found = find_node(sites, head, parent, frame);
	if (found)
		return found;
	*made = true;
	return add_node(sites, header, more ? more : head, parent, frame);
}

uint32_t sites_add(struct sites *sites, struct live_header *header, uint64_t hash, uint32_t node)
{
	struct live_site *site;
	uint32_t number;

	if (!stack_index_make_room(&sites->index))
		return 0;
	number = take_number(&header->sites, SITES_UNKNOWN);
	site = number ? reach_site(sites, number) : NULL;
	if (!site)
		return 0;
	site->node = node;
	// If another thread came first, this site stays without calls.
	return stack_index_add(&sites->index, hash, number);
}

/* Clears all of a site but its node, which other threads may change meanwhile: site_parts.h. */
static void forget_site(struct live_site *site)
{
	uint64_t *sums[] = {&site->calls,       &site->bytes,      &site->freed_calls,
			    &site->freed_bytes, &site->peak_calls, &site->peak_bytes};
	uint32_t *times[] = {&site->first, &site->since, &site->last};

	for (size_t i = 0; i < ARRAY_COUNT(sums); i++)
		__atomic_store_n(sums[i], 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < ARRAY_COUNT(times); i++)
		__atomic_store_n(times[i], 0, __ATOMIC_RELAXED);
}

void sites_forget(struct sites *sites, const struct live_header *header)
{
	uint32_t count = __atomic_load_n(&header->sites, __ATOMIC_RELAXED);

	for (uint32_t i = SITES_STACKLESS; i < count; i++)
		if (__atomic_load_n(&sites->sites[i >> SITES_SITE_BITS], __ATOMIC_ACQUIRE))
			forget_site(sites_at(sites, i));
}

never_inline void sites_raise_slow(uint64_t *peak, uint64_t value)
{
	uint64_t before = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (value > before && !atomic_add_exchange_as(atomic_add_alone(), peak, &before, value))
		;
}

never_inline void sites_date_slow(const struct sites *sites, struct live_site *site, bool first)
{
	uint32_t now = live_time_pack(clock_ticks() - sites->start_ticks, 32);

	if (first)
		__atomic_store_n(&site->first, now, __ATOMIC_RELAXED);
	__atomic_store_n(&site->since, now, __ATOMIC_RELAXED);
}
