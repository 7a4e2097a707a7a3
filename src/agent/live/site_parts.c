#include "agent/live/site_parts.h"

#include "agent/ground/signal_bracket.h"
#include "agent/live/sites.h"

/* Stands for a frame in a part's hash. Larger than all frames: ids, or special pcs. */
#define PART_FRAME 0xc0000000u

static uint32_t next_of(const struct sites *sites, uint32_t number)
{
	return __atomic_load_n(&sites->next_part[number], __ATOMIC_ACQUIRE);
}

static bool is_part(const struct live_site *site)
{
	return __atomic_load_n(&site->node, __ATOMIC_RELAXED) & LIVE_SITE_PART;
}

/*
 * The whole of a part, or the site itself. A part's next_part is set before the part is in the
 * ring, and leads from there to the whole.
 */
static uint32_t whole_of(struct sites *sites, uint32_t number)
{
	while (number && is_part(sites_at(sites, number)))
		number = next_of(sites, number);
	return number;
}

uint32_t site_parts_next(const struct sites *sites, uint32_t whole, uint32_t part)
{
	uint32_t next = next_of(sites, part ? part : whole);

	return next == whole ? 0 : next;
}

/* Links the part into the ring, unless another thread does: its maker, or one that has found it. */
static void claim_and_link(struct sites *sites, uint32_t whole, uint32_t part)
{
	uint32_t first = next_of(sites, whole), none = 0;

	if (!__atomic_compare_exchange_n(&sites->next_part[part], &none, whole, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	do
		__atomic_store_n(&sites->next_part[part], first ? first : whole, __ATOMIC_RELEASE);
	while (!__atomic_compare_exchange_n(&sites->next_part[whole], &first, part, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	__atomic_fetch_or(&sites_at(sites, whole)->node, LIVE_SITE_HAS_PARTS, __ATOMIC_RELAXED);
}

/*
 * Signals are blocked: a handler that left this by longjmp would leave a part in which threads
 * count and which nobody adds.
 */
static void link_part(struct sites *sites, uint32_t whole, uint32_t part)
{
	struct signal_bracket bracket;

	if (next_of(sites, part))
		return;
	signal_bracket_begin(&bracket);
	claim_and_link(sites, whole, part);
	signal_bracket_end(&bracket);
}

static uint32_t make_part(struct sites *sites, struct live_header *header, uint32_t whole,
			  uint64_t hash)
{
	uint32_t node = __atomic_load_n(&sites_at(sites, whole)->node, __ATOMIC_RELAXED), made = 0;

	if (__atomic_add_fetch(&sites->parts, 1, __ATOMIC_RELAXED) <= SITE_PARTS)
		made = sites_add(sites, header, hash, (node & (LIVE_NODES - 1)) | LIVE_SITE_PART);
	if (!made)
		__atomic_sub_fetch(&sites->parts, 1, __ATOMIC_RELAXED);
	return made;
}

uint32_t site_parts_take(struct sites *sites, struct live_header *header, uint32_t site,
			 uint64_t hash, uint32_t thread)
{
	uint32_t whole = whole_of(sites, site), part;

	if (!whole)
		return site;
	hash = sites_hash(hash, PART_FRAME | thread % SITE_PARTS_OF_ONE);
	part = sites_find(sites, hash);
	if (!part)
		part = make_part(sites, header, whole, hash);
	// By a collision of hashes (stack_index.h) it may be another stack's site, which is no
	// part.
	if (part && is_part(sites_at(sites, part))) {
		link_part(sites, whole, part);
		return part;
	}
	part = site_parts_next(sites, whole, 0);
	return part ? part : site;
}

/*
 * What is live by two sums. They are read in this order so that a block that ends meanwhile does
 * not make it too much.
 */
static uint64_t live_of(const uint64_t *sum, const uint64_t *freed)
{
	uint64_t all = __atomic_load_n(sum, __ATOMIC_ACQUIRE);
	uint64_t ended = __atomic_load_n(freed, __ATOMIC_RELAXED);

	return all > ended ? all - ended : 0;
}

static void look_at_peak(struct sites *sites, uint32_t whole)
{
	struct live_site *site = sites_at(sites, whole);
	uint64_t calls = live_of(&site->calls, &site->freed_calls);
	uint64_t bytes = live_of(&site->bytes, &site->freed_bytes);

	for (uint32_t part = 0; (part = site_parts_next(sites, whole, part));) {
		const struct live_site *at = sites_at(sites, part);

		calls += live_of(&at->calls, &at->freed_calls);
		bytes += live_of(&at->bytes, &at->freed_bytes);
	}
	sites_raise(&site->peak_calls, calls);
	sites_raise(&site->peak_bytes, bytes);
}

/* Whether a part has grown enough to look at the peak of all. */
static bool is_due(const uint64_t *least, uint64_t live, const uint64_t *peak, uint64_t step)
{
	uint64_t share = __atomic_load_n(peak, __ATOMIC_RELAXED) >> SITE_PART_LOG;

	return live >= __atomic_load_n(least, __ATOMIC_RELAXED) + (share > step ? share : step);
}

static never_inline void look_if_due(struct sites *sites, struct live_site *part, uint32_t number,
				     struct weight live)
{
	uint32_t whole = whole_of(sites, number);
	const struct live_site *site;

	if (!whole)
		return;
	site = sites_at(sites, whole);
	if (!is_due(&part->peak_calls, live.calls, &site->peak_calls, SITE_PART_CALLS) &&
	    !is_due(&part->peak_bytes, live.bytes, &site->peak_bytes, SITE_PART_BYTES))
		return;
	look_at_peak(sites, whole);
	__atomic_store_n(&part->peak_calls, live.calls, __ATOMIC_RELAXED);
	__atomic_store_n(&part->peak_bytes, live.bytes, __ATOMIC_RELAXED);
}

/* Lowers *least to what was live before `added`. Returns how far live is above it. */
static uint64_t lower_least(uint64_t *least, uint64_t live, uint64_t added)
{
	uint64_t before = live > added ? live - added : 0;
	uint64_t lowest = __atomic_load_n(least, __ATOMIC_RELAXED);

	if (before < lowest) {
		__atomic_store_n(least, before, __ATOMIC_RELAXED);
		lowest = before;
	}
	return live - lowest;
}

static void count_in_part(struct sites *sites, struct live_site *part, uint32_t number,
			  struct weight weight, uint64_t ticks)
{
	struct weight live = sites_count(sites, part, weight, ticks);
	uint64_t calls = lower_least(&part->peak_calls, live.calls, weight.calls);
	uint64_t bytes = lower_least(&part->peak_bytes, live.bytes, weight.bytes);

	if (unlikely(calls >= SITE_PART_CALLS || bytes >= SITE_PART_BYTES))
		look_if_due(sites, part, number, live);
}

bool site_parts_allocate(struct sites *sites, uint32_t number, uint32_t tag, struct weight weight,
			 uint64_t ticks)
{
	struct live_site *site = sites_at(sites, number);
	uint32_t node = __atomic_load_n(&site->node, __ATOMIC_RELAXED);

	if (likely(node & LIVE_SITE_PART)) {
		count_in_part(sites, site, number, weight, ticks);
		return false;
	}
	sites_count_whole(sites, site, weight, ticks);
	if (node & LIVE_SITE_HAS_PARTS)
		look_at_peak(sites, number);
	// If the site has got parts by now, the exchange fails: the thread is told so next time.
	else
		__atomic_compare_exchange_n(&site->node, &node, (node & (LIVE_NODES - 1)) | tag,
					    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return true;
}
