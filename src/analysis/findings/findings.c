#include "analysis/findings/findings.h"

#include <stdlib.h>

#include "analysis/findings/finding_search.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

struct findings {
	struct arena arena; /* values of conditions */
	struct own_functions *functions;
	struct map_sites mappings;
	struct resident resident;
	struct finding *items;
	uint32_t count;
	const char *missing;
	bool looked_for;
};

static const struct {
	const char *name;
	enum finding_group group;
} kinds[] = {
#define FINDING(NAME, name, group) {name, FINDING_GROUP_##group},
#include "analysis/findings/findings.def"
#undef FINDING
};

const char *finding_name(enum finding_kind kind)
{
	return kinds[kind].name;
}

enum finding_group finding_group(enum finding_kind kind)
{
	return kinds[kind].group;
}

const char *finding_number_name(enum finding_number number)
{
	static const char *const names[] = {
#define FINDING_NUMBER(name) #name,
		FINDING_NUMBERS(FINDING_NUMBER)
#undef FINDING_NUMBER
	};

	return names[number];
}

const char *finding_trust_name(enum finding_trust trust)
{
	static const char *const names[] = {NULL, "clear", "likely", "unclear"};

	return names[trust];
}

/* Errors first, then memory by bytes at stake, then the others as they were found. */
static int compare(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	if (kinds[a->kind].group != kinds[b->kind].group)
		return kinds[a->kind].group < kinds[b->kind].group ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Why a recording cannot have findings. NULL: it can. */
static const char *out_of_scope(const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	if (facts->filtered)
		return "of some of the blocks nothing is looked for";
	if (facts->processes)
		return "of several processes together nothing is looked for";
	if (facts->live)
		return "a live table has no past";
	if (facts->aggregate)
		return "sums alone say nothing of single blocks and times";
	return NULL;
}

static struct err *search_all(struct finding_search *search)
{
	static struct err *(*const parts[])(struct finding_search * search) = {
		find_never_freed,  find_grows_to_teardown,
		find_large_blocks, find_slack,
		find_temporary,    find_churn,
		find_chains,       find_freed_by_others,
		find_sparse_pages, find_resident,
		find_mapped,       find_wrong_frees,
		find_doubts,
	};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_COUNT(parts); i++)
		err = parts[i](search);
	return err;
}

struct err *findings_create(const struct recording *recording, struct symbolized *symbolized,
			    struct findings **ret)
{
	cleanup(findings_destroy_at) struct findings *findings = calloc(1, sizeof(*findings));
	struct finding_search search = {.recording = recording, .symbolized = symbolized};
	struct err *err;

	if (!findings)
		return err_no_memory();
	err = own_functions_create(recording, symbolized, &findings->functions);
	if (!err)
		err = recording_run_facts(recording, &search.facts);
	if (err)
		return err;
	findings->missing = out_of_scope(recording);
	findings->looked_for = !findings->missing;
	if (!findings->missing && !search.facts)
		findings->missing = "the recording's blocks were not read";
	search.functions = findings->functions;
	search.mappings = &findings->mappings;
	search.resident = &findings->resident;
	search.arena = &findings->arena;
	search.sites = recording_sites(recording, &search.site_count);
	search.values = calloc((size_t)search.site_count + 1, sizeof(*search.values));
	if (!search.values)
		return err_no_memory();
	if (findings->looked_for)
		err = map_sites_create_all(recording, symbolized, &findings->mappings);
	if (!err && findings->looked_for)
		resident_compare(recording, &findings->mappings, &findings->resident);
	if (!err && findings->looked_for)
		err = search_all(&search);
	free(search.values);
	if (search.found.count)
		qsort(search.found.items, search.found.count, sizeof(*search.found.items), compare);
	findings->items = search.found.items;
	findings->count = (uint32_t)search.found.count;
	if (!err)
		*ret = steal(&findings);
	return err;
}

void findings_destroy(struct findings *findings)
{
	if (!findings)
		return;
	own_functions_destroy(findings->functions);
	map_sites_deinit(&findings->mappings);
	arena_deinit(&findings->arena);
	free(findings->items);
	free(findings);
}

const struct finding *findings_list(const struct findings *findings, uint32_t *count)
{
	*count = findings->count;
	return findings->items;
}

const char *findings_missing(const struct findings *findings)
{
	return findings->missing;
}

const struct map_sites *findings_mappings(const struct findings *findings)
{
	return findings->looked_for ? &findings->mappings : NULL;
}

const struct resident *findings_resident(const struct findings *findings)
{
	return findings->looked_for ? &findings->resident : NULL;
}

struct own_functions *findings_functions(const struct findings *findings)
{
	return findings->functions;
}
