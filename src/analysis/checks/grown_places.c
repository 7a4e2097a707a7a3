#include "analysis/checks/grown_places.h"

#include <stdlib.h>

#include "analysis/names/own_code.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct grown_place {
	struct verdict_place place; /* its frame is that of the site with most */
	uint64_t most;
};

struct grown {
	struct intern names;
	struct map place_of; /* from the address of a place's name to its index */
	struct buf scratch;
	VEC(struct grown_place) places;
};

static void grown_deinit(struct grown *grown)
{
	intern_deinit(&grown->names);
	map_deinit(&grown->place_of);
	buf_deinit(&grown->scratch);
	vec_deinit(&grown->places);
}

/* Puts a text and its end, so that no two lists of texts read the same. */
static void put_name(struct buf *buf, const char *name)
{
	buf_text(buf, name ? name : "");
	buf_char(buf, 0);
}

/* *ret: the index of the place, which is a new one if its name is. */
static struct err *find(struct grown *grown, const struct own_code *code, uint64_t *ret)
{
	struct buf *buf = &grown->scratch;
	const char *name;
	uint64_t *index;

	buf->size = 0;
	if (code->frame) {
		put_name(buf, code->frame->module_name);
		put_name(buf, code->frame->function);
		put_name(buf, code->frame->file);
	}
	if (buf->failure)
		return buf_finish(buf);
	name = intern_bytes(&grown->names, buf->data, buf->size);
	index = name ? map_put(&grown->place_of, (uintptr_t)name) : NULL;
	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		if (!vec_push(&grown->places, (struct grown_place){0}))
			return err_no_memory();
		*index = grown->places.count - 1;
	}
	*ret = *index;
	return NULL;
}

/* Adds a site's sum. */
static void add(struct grown_place *grown, const struct own_code *code, uint64_t value,
		bool of_baseline)
{
	if (of_baseline) {
		grown->place.before += value;
		return;
	}
	grown->place.value += value;
	if (value < grown->most)
		return;
	grown->most = value;
	grown->place.frame = code->frame;
}

/* Adds the sums of a recording; of_baseline: as those before. */
static struct err *add_sites(struct grown *grown, const struct recording *recording,
			     struct symbolized *symbolized, enum metric metric, bool of_baseline)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct own_code code;
		uint64_t index = 0;
		struct err *err = own_code_of_stack(symbolized, sites[i].stack, &code);

		if (!err)
			err = find(grown, &code, &index);
		if (err)
			return err;
		add(&grown->places.items[index], &code, metric_of_site(metric, &sites[i]),
		    of_baseline);
	}
	return NULL;
}

static uint64_t growth(const struct grown_place *grown)
{
	const struct verdict_place *place = &grown->place;

	return place->value > place->before ? place->value - place->before : 0;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = growth(left), b = growth(right);

	return a < b ? 1 : -(a > b);
}

struct err *grown_places_find(const struct check_baseline *before,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct verdict *ret)
{
	cleanup(grown_deinit) struct grown grown = {.scratch = BUF_EMPTY};
	enum metric metric = check_info(ret->check)->metric;
	struct err *err = add_sites(&grown, recording, symbolized, metric, false);

	if (!err)
		err = add_sites(&grown, before->recording, before->symbolized, metric, true);
	if (err)
		return err;
	if (grown.places.count)
		qsort(grown.places.items, grown.places.count, sizeof(*grown.places.items), compare);
	ret->place_count = 0;
	for (size_t i = 0; i < grown.places.count && i < VERDICT_PLACES; i++)
		if (growth(&grown.places.items[i]))
			ret->places[ret->place_count++] = grown.places.items[i].place;
	return NULL;
}
