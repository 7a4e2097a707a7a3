/* How full the pages of the heap are: a page that one small block lies on cannot be given back. */
#include "analysis/facts/facts_walk.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct page {
	uint32_t bytes, blocks;
	uint32_t site, site_bytes; /* of the site that has most on it, as far as one pass tells */
};

struct page_table {
	struct map numbers; /* from address / FACTS_PAGE to the index of a page */
	VEC(struct page) pages;
	uint64_t last; /* the number of the page that was asked for last: neighbours follow … */
	uint64_t last_index; /* … and its index, if there is any page */
};

static void page_table_deinit(struct page_table *table)
{
	map_deinit(&table->numbers);
	vec_deinit(&table->pages);
}

static struct page *page_at(struct page_table *table, uint64_t number)
{
	uint64_t *place;

	if (table->pages.count && number == table->last)
		return &table->pages.items[table->last_index];
	place = map_put(&table->numbers, number);
	if (!place)
		return NULL;
	if (*place == MAP_NONE) {
		*place = table->pages.count;
		if (!vec_push(&table->pages, (struct page){.site = RECORDING_NONE}))
			return NULL;
	}
	table->last = number;
	table->last_index = *place;
	return &table->pages.items[*place];
}

/* Counts the bytes by a majority vote: the site that is left has most, or nearly. */
static void add_bytes(struct page *page, uint32_t site, uint32_t bytes)
{
	page->blocks++;
	page->bytes += bytes;
	if (page->site == site) {
		page->site_bytes += bytes;
	} else if (page->site_bytes >= bytes) {
		page->site_bytes -= bytes;
	} else {
		page->site_bytes = bytes - page->site_bytes;
		page->site = site;
	}
}

/* false: no memory. */
static bool add_block(struct page_table *table, const struct live_block *block)
{
	uint64_t at = block->address, end;

	// A block of no bytes holds its page, too.
	end = at + (block->size ? block->size : 1);
	while (at < end) {
		uint64_t next = (at / FACTS_PAGE + 1) * FACTS_PAGE;
		struct page *page = page_at(table, at / FACTS_PAGE);

		if (!page)
			return false;
		add_bytes(page, block->site, (uint32_t)((next < end ? next : end) - at));
		at = next;
	}
	return true;
}

static bool add_blocks(struct page_table *table, const struct address_table *live,
		       struct page_facts *ret)
{
	const struct live_block *block;
	uint32_t next = 0;

	while ((block = address_table_next(live, &next))) {
		if (block->size > FACTS_PAGE_BLOCK ||
		    block->address > UINT64_MAX - 2 * FACTS_PAGE_BLOCK)
			continue;
		ret->blocks++;
		ret->bytes += block->size;
		if (!add_block(table, block))
			return false;
	}
	return true;
}

void facts_pages_look(struct facts_walk *walk, struct site_table *sites,
		      const struct address_table *live)
{
	cleanup(page_table_deinit) struct page_table table = {0};
	struct page_facts found = {0};

	for (size_t i = 0; i < sites->states.count; i++) {
		uint64_t *few_pages = sites->states.items[i].few_pages;

		few_pages[1] = few_pages[0];
		few_pages[0] = 0;
	}
	walk->failed |= !add_blocks(&table, live, &found);
	found.pages = table.pages.count;
	for (size_t i = 0; i < table.pages.count; i++) {
		const struct page *page = &table.pages.items[i];

		if (page->bytes > FACTS_PAGE_FEW)
			continue;
		found.few_pages++;
		found.few_blocks += page->blocks;
		found.few_bytes += page->bytes;
		sites->states.items[page->site].few_pages[0]++;
	}
	walk->looks[0].facts = found;
}
