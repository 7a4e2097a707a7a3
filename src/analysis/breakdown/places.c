#include "analysis/breakdown/places.h"

#include "analysis/breakdown/breakdown_data.h"
#include "analysis/breakdown/place_finder.h"
#include "hosted/cleanup.h"

struct builder {
	struct place_finder finder;
	VEC(struct place) places;
	uint32_t *place_of; /* for each site */
};

static void builder_deinit(struct builder *builder)
{
	place_finder_deinit(&builder->finder);
	vec_deinit(&builder->places);
	free(builder->place_of);
}

void places_deinit(struct places *places)
{
	free(places->items);
	free(places->sites);
	*places = (struct places){0};
}

static struct err *add_site(struct builder *builder, struct symbolized *symbolized,
			    const struct site *sites, uint32_t number, enum metric metric)
{
	const struct site *site = &sites[number];
	struct place *place;
	struct own_code code;
	uint32_t index = 0;
	struct err *err = own_code_of_stack(symbolized, site->stack, &code);

	if (!err)
		err = place_finder_find(&builder->finder, &code, &index);
	if (err)
		return err;
	if (index == builder->places.count && !vec_push(&builder->places, (struct place){0}))
		return err_no_memory();
	place = &builder->places.items[index];
	if (!place->count++ ||
	    metric_of_site(metric, site) > metric_of_site(metric, &sites[place->site])) {
		place->site = number;
		place->code = code;
		place->sum.stack = site->stack;
	}
	breakdown_add(&place->sum, site);
	place->sum.own_peak_bytes = place->count == 1 ? site->own_peak_bytes : 0;
	builder->place_of[number] = index;
	return NULL;
}

/* Lists the sites of each place. */
static void list_sites(struct builder *builder, uint32_t site_count, uint32_t *sites)
{
	struct place *places = builder->places.items;
	uint32_t next = 0;

	for (size_t i = 0; i < builder->places.count; i++) {
		places[i].first = next;
		next += places[i].count;
		places[i].count = 0;
	}
	for (uint32_t i = 0; i < site_count; i++) {
		struct place *place;

		if (builder->place_of[i] == RECORDING_NONE)
			continue;
		place = &places[builder->place_of[i]];
		sites[place->first + place->count++] = i;
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
	cleanup(builder_deinit) struct builder builder = {.finder.scratch = BUF_EMPTY};
	uint32_t site_count;
	const struct site *sites = recording_sites(recording, &site_count);
	auto_free uint32_t *listed = calloc((size_t)site_count + 1, sizeof(*listed));
	struct err *err = NULL;

	builder.place_of = malloc(((size_t)site_count + 1) * sizeof(*builder.place_of));
	if (!listed || !builder.place_of)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < site_count; i++) {
		builder.place_of[i] = RECORDING_NONE;
		err = add_site(&builder, symbolized, sites, i, metric);
	}
	if (err)
		return err;
	list_sites(&builder, site_count, listed);
	if (builder.places.count)
		qsort_r(builder.places.items, builder.places.count, sizeof(struct place), compare,
			&metric);
	while (builder.places.count &&
	       !metric_of_site(metric, &builder.places.items[builder.places.count - 1].sum))
		builder.places.count--;
	ret->count = (uint32_t)builder.places.count;
	ret->items = steal(&builder.places.items);
	ret->sites = steal(&listed);
	return NULL;
}
