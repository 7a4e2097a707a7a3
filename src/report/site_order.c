#include "report/site_order.h"

#include <stdlib.h>

struct key {
	uint64_t value;
	uint64_t total;
	uint32_t index;
};

static int compare(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

struct err *site_order_create(const struct recording *recording, enum metric metric,
			      enum site_order_kept kept, uint32_t **ret, uint32_t *count)
{
	uint32_t site_count, used = 0;
	const struct site *sites = recording_sites(recording, &site_count);
	struct key *keys = calloc((size_t)site_count + 1, sizeof(*keys));
	uint32_t *order = calloc((size_t)site_count + 1, sizeof(*order));

	if (!keys || !order) {
		free(keys);
		free(order);
		return err_no_memory();
	}
	for (uint32_t i = 0; i < site_count; i++) {
		uint64_t value = metric_of_site(metric, &sites[i]);

		if (value || kept == SITE_ORDER_ALL)
			keys[used++] = (struct key){value, sites[i].total_bytes, i};
	}
	qsort(keys, used, sizeof(*keys), compare);
	for (uint32_t i = 0; i < used; i++)
		order[i] = keys[i].index;
	free(keys);
	*ret = order;
	*count = used;
	return NULL;
}
