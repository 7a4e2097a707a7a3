#include "report/names/hidden.h"

#include "analysis/views/hidden_heaps.h"
#include "analysis/views/resident.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"

static const struct {
	const char *blocks, *unit;
} texts[HIDDEN_HEAP_COUNT] = {
	[HIDDEN_HEAP_PYTHON] = {"small blocks", "arena"},
	[HIDDEN_HEAP_PHP] = {"its blocks", "chunk"},
};

static void put_heap(struct buf *buf, const struct style *style, enum hidden_heap heap,
		     uint32_t count, uint64_t peak_bytes)
{
	struct formatted units = format_counted(count, texts[heap].unit, true);

	buf_text(buf, "  unseen    ");
	style_printf(buf, style, STYLE_STRONG, "%10s", format_bytes(peak_bytes, style->exact).text);
	buf_printf(buf, "  at most, mapped by %s for blocks that the above does not count\n",
		   hidden_heap_owner(heap));
	buf_printf(buf, "  hint        %s keeps %s in %s of its own: --force-malloc shows each\n",
		   hidden_heap_owner(heap), texts[heap].blocks, units.text);
}

/* What the program mapped itself, which no block is. */
static struct err *put_mapped(struct buf *buf, const struct style *style,
			      const struct recording *recording, struct symbolized *symbolized)
{
	cleanup(map_sites_deinit) struct map_sites sites = {0};
	struct resident resident;
	const struct map_sum *sum = &resident.own;
	struct err *err = map_sites_create_all(recording, symbolized, &sites);

	if (err)
		return err;
	resident_compare(recording, &sites, &resident);
	if (sum->peak_bytes < RESIDENT_MAPPED_LEAST)
		return NULL;
	buf_text(buf, "  mapped    ");
	style_printf(buf, style, STYLE_STRONG, "%10s",
		     format_bytes(sum->left_bytes, style->exact).text);
	buf_printf(buf, "  by the program itself at the end, %s at the peak (--mappings)\n",
		   format_bytes(sum->peak_bytes, style->exact).text);
	return NULL;
}

struct err *hidden_write(struct buf *buf, const struct style *style,
			 const struct recording *recording, struct symbolized *symbolized)
{
	struct hidden_heaps heaps;
	struct err *err = put_mapped(buf, style, recording, symbolized);
	bool pools[HIDDEN_POOL_COUNT] = {0};

	if (!err)
		err = hidden_heaps_find(recording, &heaps);
	for (int i = 0; !err && i < HIDDEN_HEAP_COUNT; i++)
		if (heaps.of[i].count)
			put_heap(buf, style, (enum hidden_heap)i, heaps.of[i].count,
				 heaps.of[i].peak_bytes);
	if (!err && symbolized)
		err = hidden_pools_find(recording, symbolized, pools);
	for (int i = 0; !err && i < HIDDEN_POOL_COUNT; i++)
		if (pools[i])
			buf_printf(buf, "  hint        %s hides blocks: %s\n",
				   hidden_pool_owner((enum hidden_pool)i),
				   hidden_pool_is_forced((enum hidden_pool)i)
					   ? "--force-malloc shows each"
					   : "their memory counts for who needed more of it");
	return err;
}
