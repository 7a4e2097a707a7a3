/* How full the pages of the heap are: a page that one small block lies on cannot be given back. */
#include "analysis/facts/facts_steps.h"
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
};

static void page_table_deinit(struct page_table *table)
{
	map_deinit(&table->numbers);
	vec_deinit(&table->pages);
}

static struct page *page_at(struct page_table *table, uint64_t number)
{
	uint64_t *place = map_put(&table->numbers, number);

	if (!place)
		return NULL;
	if (*place == MAP_NONE) {
		*place = table->pages.count;
		if (!vec_push(&table->pages, (struct page){.site = RECORDING_NONE}))
			return NULL;
	}
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

static bool add_block(struct page_table *table, const struct block_columns *blocks, uint64_t i)
{
	uint64_t at = blocks->address[i], end;

	// A block of no bytes holds its page, too.
	end = at + (blocks->size[i] ? blocks->size[i] : 1);
	while (at < end) {
		uint64_t next = (at / FACTS_PAGE + 1) * FACTS_PAGE;
		struct page *page = page_at(table, at / FACTS_PAGE);

		if (!page)
			return false;
		add_bytes(page, blocks->site[i], (uint32_t)((next < end ? next : end) - at));
		at = next;
	}
	return true;
}

struct err *facts_pages_find(const struct block_columns *blocks, struct page_facts *ret,
			     struct site_facts *sites)
{
	cleanup(page_table_deinit) struct page_table table = {0};

	for (uint64_t i = 0; i < blocks->count && blocks->allocated_ns[i] <= ret->at_ns; i++) {
		if (blocks->freed_ns[i] <= ret->at_ns || blocks->size[i] > FACTS_PAGE_BLOCK ||
		    blocks->address[i] > UINT64_MAX - 2 * FACTS_PAGE_BLOCK)
			continue;
		ret->blocks++;
		ret->bytes += blocks->size[i];
		if (!add_block(&table, blocks, i))
			return err_no_memory();
	}
	ret->pages = table.pages.count;
	for (size_t i = 0; i < table.pages.count; i++) {
		const struct page *page = &table.pages.items[i];

		if (page->bytes > FACTS_PAGE_FEW)
			continue;
		ret->few_pages++;
		ret->few_blocks += page->blocks;
		ret->few_bytes += page->bytes;
		sites[page->site].few_pages++;
	}
	return NULL;
}
