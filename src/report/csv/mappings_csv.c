#include "report/csv/mappings_csv.h"

#include "hosted/cleanup.h"
#include "report/views/site_order.h"

static struct err *put_site(struct csv_writer *csv, const struct report_subject *subject,
			    const struct site *site, enum map_kind kind, const char *path,
			    struct buf *stack)
{
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_text(csv, map_kind_name(kind));
	csv_u64(csv, site->peak_bytes);
	csv_u64(csv, site->leaked_bytes);
	csv_u64(csv, site->leaked_blocks);
	csv_u64(csv, site->total_bytes);
	csv_u64(csv, site->calls);
	err = csv_report_stack(csv, subject, site->stack, stack);
	csv_end_row(csv);
	return err;
}

struct err *mappings_csv_write(struct csv_writer *csv, const struct report_subject *subject,
			       const struct map_sites *sites, const char *path, enum metric metric,
			       uint32_t top)
{
	cleanup(buf_deinit) struct buf stack = BUF_EMPTY;
	auto_free uint32_t *order = NULL;
	uint32_t count;
	struct err *err = site_order_create(sites->sites, sites->count, metric, SITE_ORDER_ALL,
					    &order, &count);

	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_site(csv, subject, &sites->sites[order[i]], sites->kinds[order[i]], path,
			       &stack);
	return err;
}
