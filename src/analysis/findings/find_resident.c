/* Memory that the process has and no block needs, and blocks that the process has no memory for. */
#include "analysis/findings/finding_search.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

#define PAGES_PERCENT 50 /* pages that are used to this part or more are well used */

/* The kernel's numbers change by what is no heap, too: stacks, the agent, the program's own data.
 */
#define STAYED_MIN     (UINT64_C(4) << 20)
#define STAYED_PERCENT 20 /* of the peak */
/* This part of the run must be still to come: at its end none matters. */
#define STAYED_TO_COME 10

/* Whether the program frees everything then because it ends, for longer than a moment. */
static bool is_teardown(const struct finding_search *search, uint64_t ns)
{
	unsigned int begin = finding_search_teardown(search);

	return begin < FACTS_POINTS - 2 && ns > search->facts->ends_ns[begin];
}

struct err *find_sparse_pages(struct finding_search *search)
{
	const struct page_facts *pages = search->facts ? &search->facts->pages : NULL;
	struct finding finding = {.kind = FINDING_SPARSE_PAGES, .stack = RECORDING_NONE};
	struct picked_function picked;
	struct err *err;
	uint64_t room;

	if (!pages || !pages->pages || is_teardown(search, pages->at_ns))
		return NULL;
	room = pages->pages * FACTS_PAGE;
	if (pages->bytes >= room || room - pages->bytes < FINDING_SPREAD_MIN ||
	    is_percent(pages->bytes, room, PAGES_PERCENT))
		return NULL;
	for (uint32_t i = 0; i < search->site_count; i++)
		search->values[i] = search->facts->sites[i].few_pages;
	err = own_functions_pick(search->functions, search->values, &picked);
	if (err)
		return err;
	finding.bytes = room - pages->bytes;
	finding_show_function(&finding, &picked);
	finding_set(&finding, FINDING_NUMBER_bytes, pages->bytes);
	finding_set(&finding, FINDING_NUMBER_blocks, pages->blocks);
	finding_set(&finding, FINDING_NUMBER_at_ns, pages->at_ns);
	finding_set(&finding, FINDING_NUMBER_pages, pages->pages);
	finding_set(&finding, FINDING_NUMBER_few_pages, pages->few_pages);
	finding_set(&finding, FINDING_NUMBER_few_blocks, pages->few_blocks);
	finding_set(&finding, FINDING_NUMBER_few_bytes, pages->few_bytes);
	err = finding_condition_ns(search, &finding, "alive_at", pages->at_ns);
	if (!err)
		err = finding_condition_u64(search, &finding, "size_max", FACTS_PAGE_BLOCK);
	return err ? err : finding_search_add(search, &finding);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct err *add_resident(struct finding_search *search, enum finding_kind kind,
				uint64_t bytes, uint32_t sample)
{
	uint32_t count;
	const struct memory_sample *memory = &recording_memory(search->recording, &count)[sample];
	struct finding finding = {.kind = kind, .bytes = bytes, .stack = RECORDING_NONE};
	struct err *err;

	finding_set(&finding, FINDING_NUMBER_at_ns, memory->time_ns);
	finding_set(&finding, FINDING_NUMBER_live_bytes, search->facts->sampled_live[sample]);
	finding_set(&finding, FINDING_NUMBER_resident_bytes, memory->anonymous);
	err = finding_condition_ns(search, &finding, "alive_at", memory->time_ns);
	return err ? err : finding_search_add(search, &finding);
}

/*
 * Compares what was live with the process's anonymous memory, wherever that was counted. What
 * stayed resident: what is beyond live after the peak, and was not so before, but no more than live
 * bytes fell. Untouched: live bytes that the process has no memory for.
 */
struct err *find_resident(struct finding_search *search)
{
	const struct recording_summary *sum = recording_summary(search->recording);
	uint64_t beyond_least = UINT64_MAX, stayed = 0, untouched = 0, least;
	uint32_t count, stayed_at = 0, untouched_at = 0;
	const struct memory_sample *memory = recording_memory(search->recording, &count);
	uint64_t duration = recording_facts(search->recording)->duration_ns;
	uint64_t latest = duration - duration / STAYED_TO_COME;
	struct err *err = NULL;

	if (!search->facts || recording_facts(search->recording)->begun_by_fork)
		return NULL;
	latest = is_teardown(search, latest)
			 ? search->facts->ends_ns[finding_search_teardown(search)]
			 : latest;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t live = search->facts->sampled_live[i], anonymous = memory[i].anonymous;
		uint64_t beyond = above(anonymous, live), kept, asked;

		beyond_least = less(beyond_least, beyond);
		kept = less(beyond - beyond_least, above(sum->peak_bytes, live));
		if (memory[i].time_ns > sum->peak_time_ns && memory[i].time_ns <= latest &&
		    kept > stayed) {
			stayed = kept;
			stayed_at = i;
		}
		asked = above(live, anonymous + memory[i].swap);
		if (asked > untouched) {
			untouched = asked;
			untouched_at = i;
		}
	}
	least = sum->peak_bytes / 100 * STAYED_PERCENT;
	least = least > STAYED_MIN ? least : STAYED_MIN;
	if (stayed >= least)
		err = add_resident(search, FINDING_STAYED_RESIDENT, stayed, stayed_at);
	if (!err && untouched >= least)
		err = add_resident(search, FINDING_UNTOUCHED, untouched, untouched_at);
	return err;
}

/* Adds up the mappings of the sites of a function. */
struct mapping_count {
	const struct map_sites *sites;
	uint64_t mappings;
};

static void count_mappings(void *argument, uint32_t site)
{
	struct mapping_count *count = argument;

	count->mappings += count->sites->sites[site].peak_blocks;
}

/*
 * The kind of mappings that most of it is. Reserved addresses and copies of files explain only what
 * the others do not.
 */
static enum map_kind mapped_kind(const struct map_sites *sites, uint64_t mapped)
{
	static const enum map_kind kinds[] = {MAP_KIND_MEMORY,    MAP_KIND_BREAK,
					      MAP_KIND_SHARED,    MAP_KIND_COPY,
					      MAP_KIND_ALLOCATOR, MAP_KIND_RESERVED};
	enum map_kind kind = MAP_KIND_MEMORY;
	uint64_t most = 0, left = mapped;

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		uint64_t peak = sites->of[kinds[i]].peak_bytes;
		uint64_t bytes = less(peak, kinds[i] < MAP_KIND_COPY ? mapped : left);

		left = above(left, peak);
		if (bytes <= most)
			continue;
		most = bytes;
		kind = kinds[i];
	}
	return kind;
}

/* Sets which function mapped most, and how often. */
static struct err *set_mapper(struct finding_search *search, struct finding *finding)
{
	const struct map_sites *sites = search->mappings;
	enum map_kind kind = mapped_kind(sites, finding->bytes);
	auto_free uint64_t *values = calloc((size_t)sites->count + 1, sizeof(*values));
	cleanup(own_functions_destroy_at) struct own_functions *functions = NULL;
	struct mapping_count count = {.sites = sites};
	struct picked_function picked;
	struct err *err;

	if (!values)
		return err_no_memory();
	for (uint32_t i = 0; i < sites->count; i++)
		values[i] = sites->kinds[i] == kind ? sites->sites[i].peak_bytes : 0;
	err = own_functions_create_of(search->recording, search->symbolized, sites->sites,
				      sites->count, &functions);
	if (!err)
		err = own_functions_pick(functions, values, &picked);
	if (!err)
		err = own_functions_take(functions, &picked, count_mappings, &count);
	if (err)
		return err;
	if (kind == MAP_KIND_ALLOCATOR)
		finding->owner =
			sites->allocator ? sites->allocator : "an allocator that is not recorded";
	else
		finding_show_function(finding, &picked);
	finding->subject = kind == MAP_KIND_BREAK ? "sbrk call" : "mapping";
	finding_set(finding, FINDING_NUMBER_mappings, count.mappings);
	return NULL;
}

struct err *find_mapped(struct finding_search *search)
{
	struct finding finding = {
		.kind = FINDING_MAPPED, .stack = RECORDING_NONE, .view = "mappings"};
	const struct resident *resident = search->resident;
	struct err *err;

	if (!resident->mapped)
		return NULL;
	finding.bytes = resident->mapped;
	finding_set(&finding, FINDING_NUMBER_at_ns, resident->at_ns);
	finding_set(&finding, FINDING_NUMBER_bytes, resident->mapped);
	finding_set(&finding, FINDING_NUMBER_resident_bytes, resident->resident);
	err = set_mapper(search, &finding);
	return err ? err : finding_search_add(search, &finding);
}
