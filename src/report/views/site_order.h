/* The order in which a view shows sites or pools. */
#ifndef MALLOW_REPORT_VIEWS_SITE_ORDER_H
#define MALLOW_REPORT_VIEWS_SITE_ORDER_H

#include "analysis/sites/metric.h"
#include "hosted/err.h"

enum site_order_kept {
	SITE_ORDER_ALL,
	SITE_ORDER_NOT_ZERO, /* those whose metric is not 0 */
};

/*
 * *ret: indices of sites in descending order of the metric; equal ones by total bytes, then in the
 * order of the recording. The caller owns it (free()). *count: how many.
 */
struct err *site_order_create(const struct site *sites, uint32_t site_count, enum metric metric,
			      enum site_order_kept kept, uint32_t **ret, uint32_t *count);

/*
 * The same for sites with something live: by blocks, or else by bytes; equal ones by the other of
 * these.
 */
struct err *site_order_live(const struct site *sites, uint32_t site_count, bool by_blocks,
			    uint32_t **ret, uint32_t *count);

/* The same for the pools of a recording. */
struct err *site_order_pools(const struct recording *recording, enum metric metric,
			     enum site_order_kept kept, uint32_t **ret, uint32_t *count);

#endif
