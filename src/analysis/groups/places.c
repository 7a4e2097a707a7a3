#include "analysis/groups/places.h"

#include "hosted/cleanup.h"

void places_deinit(struct places *places)
{
	free(places->items);
	free(places->sites);
	block_groups_deinit(&places->groups);
	*places = (struct places){0};
}

/* Adds up the sites of each place. */
static void add_sites(struct places *places, const struct site *sites, uint32_t site_count,
		      enum metric metric)
{
	for (uint32_t i = 0; i < site_count; i++) {
		const struct site *site = &sites[i];
		struct place *place = &places->items[places->groups.group_of[i]];

		if (!place->count++ ||
		    metric_of_site(metric, site) > metric_of_site(metric, &sites[place->site])) {
			place->site = i;
			place->sum.stack = site->stack;
		}
		metric_add_site(&place->sum, site);
		place->sum.own_peak_bytes = place->count == 1 ? site->own_peak_bytes : 0;
	}
}

/* Lists the sites of each place. */
static void list_sites(struct places *places, uint32_t site_count)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < places->count; i++) {
		places->items[i].first = next;
		next += places->items[i].count;
		places->items[i].count = 0;
	}
	for (uint32_t i = 0; i < site_count; i++) {
		struct place *place = &places->items[places->groups.group_of[i]];

		places->sites[place->first + place->count++] = i;
	}
}

static int compare(const void *left, const void *right, void *argument)
{
	const struct place *a = left, *b = right;
	enum metric metric = *(const enum metric *)argument;
	uint64_t of_a = metric_of_site(metric, &a->sum), of_b = metric_of_site(metric, &b->sum);

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	if (a->sum.total_bytes != b->sum.total_bytes)
		return a->sum.total_bytes < b->sum.total_bytes ? 1 : -1;
	return a->first < b->first ? -1 : a->first > b->first;
}

struct err *places_create(const struct recording *recording, struct symbolized *symbolized,
			  enum metric metric, struct places *ret)
{
	cleanup(places_deinit) struct places places = {0};
	uint32_t site_count;
	const struct site *sites = recording_sites(recording, &site_count);
	struct err *err =
		block_groups_create(recording, symbolized, BLOCK_GROUPS_PLACE, 0, &places.groups);

	if (err)
		return err;
	places.count = places.groups.count;
	places.items = calloc((size_t)places.count + 1, sizeof(*places.items));
	places.sites = calloc((size_t)site_count + 1, sizeof(*places.sites));
	if (!places.items || !places.sites)
		return err_no_memory();
	add_sites(&places, sites, site_count, metric);
	list_sites(&places, site_count);
	for (uint32_t i = 0; !err && i < places.count; i++) {
		places.items[i].name = places.groups.names[i];
		err = own_code_of_stack(symbolized, places.items[i].sum.stack,
					&places.items[i].code);
	}
	if (err)
		return err;
	qsort_r(places.items, places.count, sizeof(*places.items), compare, &metric);
	while (places.count && !metric_of_site(metric, &places.items[places.count - 1].sum))
		places.count--;
	*ret = places;
	places = (struct places){0};
	return NULL;
}
