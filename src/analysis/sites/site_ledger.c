#include "analysis/sites/site_ledger.h"

#include <stdlib.h>

#include "analysis/names/site_identity.h"
#include "hosted/cleanup.h"

void site_ledger_deinit(struct site_ledger *ledger)
{
	map_deinit(&ledger->index);
	vec_deinit(&ledger->rows);
	*ledger = (struct site_ledger){0};
}

/* The sums of an identity, which may be new. NULL: no memory. */
static struct site *sums_of(struct site_ledger *ledger, uint64_t identity)
{
	uint64_t *number = map_put(&ledger->index, identity);

	if (!number)
		return NULL;
	if (*number == MAP_NONE) {
		if (!vec_push(&ledger->rows, (struct site_ledger_row){.identity = identity})) {
			map_remove(&ledger->index, identity);
			return NULL;
		}
		*number = ledger->rows.count - 1;
	}
	return &ledger->rows.items[*number].sums;
}

static void add_site(struct site *to, const struct site *site, bool ended)
{
	to->calls += site->calls;
	to->total_bytes += site->total_bytes;
	to->leaked_bytes += ended ? 0 : site->leaked_bytes;
	to->leaked_blocks += ended ? 0 : site->leaked_blocks;
}

struct err *site_ledger_add(struct site_ledger *ledger, const struct recording *recording,
			    struct symbolized *symbolized, bool ended)
{
	cleanup(site_identities_deinit) struct site_identities identities = {0};
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct site_identity identity;
		struct err *err =
			site_identities_find(&identities, symbolized, sites[i].stack, &identity);
		struct site *sums = err ? NULL : sums_of(ledger, identity.site);

		if (err)
			return err;
		if (!sums)
			return err_no_memory();
		add_site(sums, &sites[i], ended);
	}
	return NULL;
}

struct err *site_ledger_join(struct site_ledger *ledger, const struct site_ledger *other)
{
	for (size_t i = 0; i < other->rows.count; i++) {
		const struct site_ledger_row *row = &other->rows.items[i];
		struct site *sums = sums_of(ledger, row->identity);

		if (!sums)
			return err_no_memory();
		add_site(sums, &row->sums, false);
	}
	return NULL;
}

/* Adds what came of an identity since. */
static void add_change(struct site *to, const struct site *now, const struct site *then,
		       enum site_since what)
{
	to->calls += now->calls - then->calls;
	to->total_bytes += now->total_bytes - then->total_bytes;
	if (what != SITE_SINCE_ALL)
		return;
	to->leaked_bytes += now->leaked_bytes - then->leaked_bytes;
	to->leaked_blocks += now->leaked_blocks - then->leaked_blocks;
}

/* Adds the change of each identity to its place; those that have none to the rest. */
static void add_changes(const struct site_ledger *now, const struct site_ledger *then,
			const struct map *places, struct site *since, enum site_since what,
			struct site *rest)
{
	static const struct site nothing;

	for (size_t i = 0; i < now->rows.count; i++) {
		const struct site_ledger_row *row = &now->rows.items[i];
		uint64_t before = then ? map_get(&then->index, row->identity) : MAP_NONE;
		uint64_t place = map_get(places, row->identity);

		add_change(place == MAP_NONE ? rest : &since[place], &row->sums,
			   before == MAP_NONE ? &nothing : &then->rows.items[before].sums, what);
	}
}

struct err *site_ledger_since(const struct site_ledger *now, const struct site_ledger *then,
			      const struct recording *recording, struct symbolized *symbolized,
			      enum site_since what, struct site **ret, struct site *rest)
{
	cleanup(site_identities_deinit) struct site_identities identities = {0};
	cleanup(map_deinit) struct map places = {0}; /* of an identity: its first site */
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);
	auto_free struct site *since = calloc((size_t)count + 1, sizeof(*since));

	if (!since)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		struct site_identity identity;
		struct err *err =
			site_identities_find(&identities, symbolized, sites[i].stack, &identity);
		uint64_t *place = err ? NULL : map_put(&places, identity.site);

		if (err)
			return err;
		if (!place)
			return err_no_memory();
		if (*place == MAP_NONE)
			*place = i;
		since[i].stack = sites[i].stack;
		if (what == SITE_SINCE_ALL)
			continue;
		since[i] = sites[i];
		since[i].calls = since[i].total_bytes = 0;
	}
	*rest = (struct site){.stack = RECORDING_NONE};
	add_changes(now, then, &places, since, what, rest);
	*ret = steal(&since);
	return NULL;
}
