/* What is never freed, by the shape of its growth. */
#include <string.h>

#include "analysis/findings/finding_search.h"
#include "analysis/findings/shape.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

/* Sums of some sites. */
struct group {
	const struct finding_search *search;
	struct shape_input input;
	uint64_t bytes;
};

static void add_site(void *argument, uint32_t site)
{
	struct group *group = argument;
	const struct site_facts *facts = &group->search->facts->sites[site];

	for (int i = 0; i < FACTS_POINTS; i++) {
		group->input.live[i] += facts->live[i];
		group->input.kept[i] += facts->kept[i];
	}
	group->input.late_bytes += facts->late_bytes;
	group->input.kept_blocks += group->search->sites[site].leaked_blocks;
	group->bytes += group->search->sites[site].leaked_bytes;
}

static struct shape_result judge(const struct group *group)
{
	return shape_judge_run(&group->input,
			       recording_facts(group->search->recording)->duration_ns);
}

static enum finding_kind kind_of(enum shape shape)
{
	static const enum finding_kind all[] = {
		[SHAPE_NONE] = FINDING_STOPPED,    [SHAPE_LATE] = FINDING_LATE,
		[SHAPE_ONCE] = FINDING_ONCE,       [SHAPE_FLAT] = FINDING_FLAT,
		[SHAPE_GROWS] = FINDING_GROWS,     [SHAPE_STEPS] = FINDING_STEPS,
		[SHAPE_STOPPED] = FINDING_STOPPED,
	};

	return all[shape];
}

/* How much it must be to stand out. Growth matters sooner; what stays as it is may be meant so. */
static bool stands_out(const struct finding_search *search, const struct picked_function *picked,
		       enum shape shape, uint64_t bytes)
{
	bool growing = shape == SHAPE_GROWS || shape == SHAPE_STEPS;
	uint64_t mean = recording_facts(search->recording)->sample_mean;
	uint64_t least = !picked->own ? FINDING_PLUMBING_MIN
			 : growing    ? FINDING_GROWING_MIN
				      : FINDING_BYTES_MIN;
	unsigned int percent = growing ? FINDING_GROWING_PERCENT : FINDING_CALM_PERCENT;

	// Of a few samples the times say nothing.
	return bytes >= least && bytes >= mean * FINDING_SAMPLES_MIN &&
	       is_percent(bytes, recording_summary(search->recording)->peak_bytes, percent);
}

/* The end of the part in which nearly all was there that stayed to the end. */
static uint64_t filled_by(const uint64_t *ends_ns, const struct shape_input *input)
{
	unsigned int part = 0;

	while (part < FACTS_POINTS - 1 &&
	       !is_percent(input->live[part], input->live[FACTS_POINTS - 1], 95))
		part++;
	return ends_ns[part];
}

static void set_numbers(const struct finding_search *search, const struct group *group,
			const struct shape_result *result, struct finding *finding)
{
	const uint64_t *ends = search->facts->ends_ns;
	uint64_t since = shape_begin_ns(ends, result->first);

	finding_set(finding, FINDING_NUMBER_bytes, group->bytes);
	finding_set(finding, FINDING_NUMBER_blocks, group->input.kept_blocks);
	finding_set(finding, FINDING_NUMBER_since_ns,
		    result->shape == SHAPE_FLAT ? filled_by(ends, &group->input) : since);
	finding_set(finding, FINDING_NUMBER_until_ns, ends[result->last]);
	if (result->shape == SHAPE_GROWS && ends[FACTS_POINTS - 1] > since)
		finding_set(finding, FINDING_NUMBER_bytes_per_second,
			    shape_rate(result, group->bytes, ends));
	if (result->shape == SHAPE_STEPS)
		finding_set(finding, FINDING_NUMBER_steps, result->steps);
}

/* Adds a finding about a group, unless it is too small. */
static struct err *add_group(struct finding_search *search, const struct picked_function *picked,
			     const struct group *group, bool *added)
{
	struct shape_result result =
		shape_judge_run(&group->input, recording_facts(search->recording)->duration_ns);
	struct finding finding = {.kind = kind_of(result.shape), .trust = result.trust};
	struct err *err;

	*added = stands_out(search, picked, result.shape, group->bytes);
	if (!*added)
		return NULL;
	finding.bytes = group->bytes;
	set_numbers(search, group, &result, &finding);
	err = finding_condition_text(&finding, "lifetime", "only_leaked");
	if (!err)
		err = finding_set_function(search, &finding, picked);
	return err ? err : finding_search_add(search, &finding);
}

/*
 * Picks the function that most of the values are for. Not one that other things, which the values
 * are not of, are below, too: a request's handler fills a cache and leaks a little.
 */
static struct err *pick_group(struct finding_search *search, struct picked_function *picked,
			      struct group *group)
{
	struct err *err = own_functions_pick(search->functions, search->values, picked);

	*group = (struct group){.search = search};
	if (!err && picked->frame)
		err = own_functions_take(search->functions, picked, add_site, group);
	if (err || !picked->inclusive || is_percent(picked->value, group->bytes, 90))
		return err;
	*group = (struct group){.search = search};
	err = own_functions_pick_called(search->functions, search->values, picked);
	if (!err && picked->frame)
		err = own_functions_take(search->functions, picked, add_site, group);
	return err;
}

static void forget_value(void *argument, uint32_t site)
{
	struct finding_search *search = argument;

	search->values[site] = 0;
}

/*
 * Finds functions until what is left is small. What no own code asked for may be more than that,
 * and be no finding: it is passed over. search->values: what is left, of one shape.
 */
static struct err *find_functions(struct finding_search *search)
{
	for (int found = 0; found < FINDING_FUNCTIONS_MAX;) {
		struct picked_function picked;
		struct group group;
		struct err *err = pick_group(search, &picked, &group);
		bool added = false;

		if (!err && picked.frame)
			err = add_group(search, &picked, &group, &added);
		if (!err && picked.frame && (added || !picked.own))
			err = own_functions_take(search->functions, &picked, forget_value, search);
		if (err || !picked.frame || (!added && picked.own))
			return err;
		found += added;
	}
	return NULL;
}

/* *ret: for each function the shape of all that is called after it; the caller owns it (free()). */
static struct err *judge_functions(struct finding_search *search, const uint32_t **named,
				   uint8_t **ret)
{
	auto_free struct group *groups = NULL;
	auto_free uint8_t *shapes = NULL;
	uint32_t count;
	struct err *err = own_functions_named(search->functions, named, &count);

	if (err)
		return err;
	groups = calloc((size_t)count + 1, sizeof(*groups));
	shapes = calloc((size_t)count + 1, sizeof(*shapes));
	if (!groups || !shapes)
		return err_no_memory();
	for (uint32_t i = 0; i < search->site_count; i++) {
		if (!search->sites[i].leaked_bytes || (*named)[i] == UINT32_MAX)
			continue;
		groups[(*named)[i]].search = search;
		add_site(&groups[(*named)[i]], i);
	}
	for (uint32_t i = 0; i < count; i++)
		if (groups[i].search)
			shapes[i] = (uint8_t)judge(&groups[i]).shape;
	*ret = steal(&shapes);
	return NULL;
}

struct err *find_never_freed(struct finding_search *search)
{
	static const enum shape order[] = {SHAPE_GROWS, SHAPE_STEPS, SHAPE_STOPPED,
					   SHAPE_FLAT,  SHAPE_ONCE,  SHAPE_LATE};
	auto_free uint8_t *shapes = NULL;
	const uint32_t *named;
	struct err *err;

	if (!search->facts || !recording_summary(search->recording)->leaked_bytes)
		return NULL;
	err = judge_functions(search, &named, &shapes);
	for (size_t i = 0; !err && i < ARRAY_COUNT(order); i++) {
		for (uint32_t j = 0; j < search->site_count; j++) {
			bool of_shape = named[j] != UINT32_MAX && shapes[named[j]] == order[i];

			search->values[j] = of_shape ? search->sites[j].leaked_bytes : 0;
		}
		err = find_functions(search);
	}
	return err;
}
