#include "report/hidden.h"

#include "analysis/pools/hidden_pools.h"
#include "report/format.h"

static const struct {
	const char *blocks, *unit;
} texts[HIDDEN_POOL_COUNT] = {
	[HIDDEN_POOL_PYTHON] = {"small blocks", "arena"},
	[HIDDEN_POOL_PHP] = {"its blocks", "chunk"},
};

static void put_pool(struct buf *buf, const struct style *style, enum hidden_pool pool,
		     uint32_t count, uint64_t peak_bytes)
{
	struct formatted units = format_counted(count, texts[pool].unit, true);

	buf_text(buf, "  unseen    ");
	style_printf(buf, style, STYLE_STRONG, "%10s", format_bytes(peak_bytes, style->exact).text);
	buf_printf(buf, "  at most, mapped by %s for blocks that the above does not count\n",
		   hidden_pool_owner(pool));
	buf_printf(buf, "  hint        %s keeps %s in %s of its own: --force-malloc shows each\n",
		   hidden_pool_owner(pool), texts[pool].blocks, units.text);
}

struct err *hidden_write(struct buf *buf, const struct style *style,
			 const struct recording *recording, struct symbolized *symbolized)
{
	struct hidden_pools pools;
	struct err *err = hidden_pools_find(recording, &pools);
	bool cxx = false;

	for (int i = 0; !err && i < HIDDEN_POOL_COUNT; i++)
		if (pools.of[i].count)
			put_pool(buf, style, (enum hidden_pool)i, pools.of[i].count,
				 pools.of[i].peak_bytes);
	if (!err && symbolized)
		err = hidden_pools_of_cxx(recording, symbolized, &cxx);
	if (cxx)
		buf_text(buf, "  hint        libstdc++'s pool allocator hides blocks: "
			      "--force-malloc shows each\n");
	return err;
}
