#include "analysis/checks/verdicts.h"

#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/blocks/block_bits.h"
#include "analysis/diff/diff_rows.h"
#include "analysis/filter/moment.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/shape_sums.h"
#include "analysis/groups/places.h"
#include "analysis/leaks/suppressed.h"
#include "hosted/cleanup.h"

static const struct check_info checks[] = {
#define CHECK(NAME, name, unit, metric, scope, value, text)                                        \
	{name, "max-" name, value, text, CHECK_UNIT_##unit, METRIC_##metric, CHECK_SCOPE_##scope},
#include "analysis/checks/checks.def"
#undef CHECK
};

const struct check_info *check_info(enum check check)
{
	return &checks[check];
}

/* What is the same for all metrics. Zeroed: empty. */
struct grown {
	struct diff *diff;    /* both recordings; NULL: not made yet */
	struct places places; /* of the newer one, which has more */
};

static void grown_deinit(struct grown *grown)
{
	diff_destroy(grown->diff);
	places_deinit(&grown->places);
	*grown = (struct grown){0};
}

static struct err *compare_recordings(const struct check_baseline *baseline,
				      const struct recording *recording,
				      struct symbolized *symbolized, struct grown *ret)
{
	const struct diff_side sides[DIFF_SIDES] = {
		{baseline->recording, baseline->symbolized, 1},
		{recording, symbolized, 1},
	};
	struct err *err = diff_create(sides, &ret->diff);

	return err ? err : places_create(recording, symbolized, METRIC_CALLS, &ret->places);
}

/*
 * The frame of the place that has most of a function of the newer recording: its line is to be
 * shown. Common frames of two builds have any of the function's lines. NULL: there is none.
 */
static const struct named_frame *find_line(const struct grown *grown, const char *function,
					   enum metric metric)
{
	const struct place *most = NULL;

	for (uint32_t i = 0; i < grown->places.count; i++) {
		const struct place *place = &grown->places.items[i];

		if (strcmp(place->name, function) == 0 &&
		    (!most ||
		     metric_of_site(metric, &place->sum) > metric_of_site(metric, &most->sum)))
			most = place;
	}
	return most ? most->code.frame : NULL;
}

/*
 * Fills in the places of the verdict: the functions that grew most, with the line that has most of
 * each. Both recordings are compared when grown is empty; it must be asked about these two only.
 * Frames live as long as grown->diff and symbolized.
 */
static struct err *grown_find(struct grown *grown, const struct check_baseline *baseline,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct verdict *verdict)
{
	cleanup(diff_rows_deinit) struct diff_rows rows = {0};
	enum metric metric = check_info(verdict->check)->metric;
	struct err *err =
		grown->diff ? NULL : compare_recordings(baseline, recording, symbolized, grown);

	if (!err)
		err = diff_rows_create(grown->diff, DIFF_BY_FUNCTION, metric, &rows);
	for (uint32_t i = 0; !err && i < rows.count && verdict->place_count < VERDICT_PLACES; i++) {
		const struct diff_row *row = &rows.items[i];
		const struct named_frame *line;

		if (diff_row_change(row, metric) <= 0)
			continue;
		line = find_line(grown, row->name, metric);
		verdict->places[verdict->place_count++] = (struct verdict_place){
			.frame = line ? line : row->frame,
			.value = metric_of_site(metric, &row->sums[DIFF_AFTER]),
			.before = metric_of_site(metric, &row->sums[DIFF_BEFORE]),
		};
	}
	return err;
}

static bool block_matches(const struct check_matching *matching, const struct site *sites,
			  uint64_t block)
{
	const struct filter_match *match = matching->match;
	uint32_t site = recording_blocks(matching->recording)->site[block];

	return block_bits_has(match->words, block) &&
	       (!matching->suppressed || !matching->suppressed[(uint32_t)(sites[site].stack + 1)]);
}

/*
 * Bytes a second that the matching blocks together never freed, if that grew to the end (shape.h);
 * else 0. *bytes: what they never freed.
 */
static uint64_t growth_of_matching(const struct check_matching *matching, uint64_t *bytes)
{
	uint64_t duration_ns = recording_facts(matching->recording)->duration_ns;
	struct shape_input input = {.kept_blocks = 0};
	struct shape_result shape;
	struct shape_walk walk;
	uint32_t count;
	const struct site *sites = recording_sites(matching->recording, &count);

	shape_walk_begin(matching->recording, &walk);
	for (uint64_t i = 0; i < walk.blocks->count; i++)
		if (block_matches(matching, sites, i))
			shape_walk_add(&walk, i, &input);
	*bytes = 0;
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		*bytes += input.kept[i];
	shape = shape_judge_run(&input, duration_ns);
	return shape_rate(&shape, *bytes, walk.ends);
}

struct judge {
	const struct check_limits *limits;
	const struct check_baseline *baseline;
	const struct recording *recording;
	struct symbolized *symbolized;
	const struct check_matching *matching;
	struct verdicts *verdicts;
	struct grown *grown;
};

/* Why a recording does not have the sum. NULL: it has it. */
static const char *unknown_sum(enum check check, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	if (!aggregate_knows(facts, check_info(check)->metric))
		return "the profile that was imported does not tell";
	if (check_info(check)->metric == METRIC_LEAKED && facts->aggregate &&
	    !recording_facts_have_end(facts))
		return "what was live in a dump may have been freed later";
	if (check_info(check)->metric != METRIC_TEMPORARY)
		return NULL;
	if (facts->sample_mean)
		return "a sample does not tell which calls are temporary";
	// Culled calls are known by site only, not to a filter.
	return facts->filtered && facts->cull_ns
		       ? "with CULL, or stripped, a filter does not tell which calls are temporary"
		       : NULL;
}

static uint64_t saturated_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static struct verdict *add(const struct judge *judge, enum check check)
{
	struct verdict *verdict = &judge->verdicts->items[judge->verdicts->count++];
	const struct recording_summary *sum = recording_summary(judge->recording);

	*verdict = (struct verdict){
		.check = check,
		.value = metric_of_sum(check_info(check)->metric, sum),
		.whole = sum->calls,
	};
	return verdict;
}

/*
 * Dumps tell what was live then. The peak may have been between them: it is at least that.
 */
static const char *unknown_if_it_holds(enum check check, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	return check_info(check)->metric == METRIC_PEAK && facts->aggregate &&
			       facts->aggregate->peak_is_live
		       ? "dumps tell what was live then, not the peak between them"
		       : NULL;
}

static void compare(struct verdict *verdict, const char *unknown, const char *if_it_holds)
{
	if (!unknown && verdict->value <= verdict->limit)
		unknown = if_it_holds;
	verdict->unknown = unknown;
	verdict->state = unknown                           ? VERDICT_UNKNOWN
			 : verdict->value > verdict->limit ? VERDICT_BROKEN
							   : VERDICT_HOLDS;
}

/* Fills in the places with most of the sum. */
static struct err *find_places(const struct judge *judge, struct verdict *verdict)
{
	cleanup(places_deinit) struct places places = {0};
	enum metric metric = check_info(verdict->check)->metric;
	struct err *err = places_create(judge->recording, judge->symbolized, metric, &places);

	for (uint32_t i = 0; !err && i < places.count && i < VERDICT_PLACES; i++)
		verdict->places[verdict->place_count++] = (struct verdict_place){
			.frame = places.items[i].code.frame,
			.call = places.items[i].code.call,
			.value = metric_of_site(metric, &places.items[i].sum),
		};
	return err;
}

static struct err *judge_sum(const struct judge *judge, enum check check)
{
	struct verdict *verdict = add(judge, check);

	verdict->limit = judge->limits->most[check];
	if (check_info(check)->unit == CHECK_UNIT_SHARE)
		verdict->limit = percent_of(verdict->limit, verdict->whole);
	compare(verdict, unknown_sum(check, judge->recording),
		unknown_if_it_holds(check, judge->recording));
	return verdict->state == VERDICT_BROKEN ? find_places(judge, verdict) : NULL;
}

/* Judges the leaks of own code: those of a copy that has no others. */
static struct err *judge_own(const struct judge *judge, enum check check)
{
	cleanup(suppressed_deinit) struct suppressed own = {0};
	struct judge narrowed = *judge;
	struct err *err = suppressed_create_own(judge->recording, judge->symbolized, &own);

	narrowed.recording = own.recording;
	return err ? err : judge_sum(&narrowed, check);
}

/* The same for a comparison: what is live in two dumps compares. */
static const char *unknown_of(enum check check, const struct recording *recording)
{
	return recording_facts(recording)->aggregate ? NULL : unknown_sum(check, recording);
}

static struct err *judge_by_baseline(const struct judge *judge, enum check check)
{
	const struct check_baseline *baseline = judge->baseline;
	const char *unknown = unknown_of(check, judge->recording);
	struct verdict *verdict;

	// Imported sums are compared by what both of them know.
	if (!aggregate_knows(recording_facts(judge->recording), check_info(check)->metric) ||
	    !aggregate_knows(recording_facts(baseline->recording), check_info(check)->metric))
		return NULL;
	verdict = add(judge, check);
	verdict->of_baseline = true;
	verdict->before =
		metric_of_sum(check_info(check)->metric, recording_summary(baseline->recording));
	verdict->limit =
		saturated_sum(verdict->before, percent_of(baseline->tolerance, verdict->before));
	compare(verdict, unknown ? unknown : unknown_of(check, baseline->recording), NULL);
	if (verdict->state != VERDICT_BROKEN)
		return NULL;
	return grown_find(judge->grown, baseline, judge->recording, judge->symbolized, verdict);
}

/* Adds a function that grows. Findings come by their bytes, places by their rates. */
static void add_growing(struct verdict *verdict, const struct named_frame *frame, uint64_t rate)
{
	uint32_t at = verdict->place_count;

	for (; at > 0 && verdict->places[at - 1].value < rate; at--)
		if (at < VERDICT_PLACES)
			verdict->places[at] = verdict->places[at - 1];
	if (at == VERDICT_PLACES)
		return;
	verdict->places[at] = (struct verdict_place){.frame = frame, .value = rate};
	verdict->place_count += verdict->place_count < VERDICT_PLACES;
}

/* The rate is that of findings: of one function, because stacks may be in several of them. */
static struct err *judge_growth(const struct judge *judge, enum check check)
{
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	struct verdict *verdict = add(judge, check);
	struct err *err = findings_create(judge->recording, judge->symbolized, &findings);
	const struct finding *list;
	uint32_t count;
	bool untimed;

	if (err)
		return err;
	untimed = recording_facts(judge->recording)->imported &&
		  !recording_facts(judge->recording)->duration_ns;
	verdict->value = 0;
	verdict->limit = judge->limits->most[check];
	list = findings_list(findings, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t rate = list[i].numbers[FINDING_NUMBER_bytes_per_second];

		if (list[i].kind != FINDING_GROWS)
			continue;
		if (rate > verdict->value)
			verdict->value = rate;
		if (rate > verdict->limit)
			add_growing(verdict, list[i].frame, rate);
	}
	compare(verdict,
		untimed ? "the file that was imported has no times" : findings_missing(findings),
		NULL);
	return NULL;
}

/* The rate is that of all that matches. Places have the part of it that they have of the leaks. */
static struct err *judge_growth_of_matching(const struct judge *judge, enum check check)
{
	struct verdict *verdict = add(judge, check);
	struct err *err = NULL;
	uint64_t bytes;

	verdict->value = growth_of_matching(judge->matching, &bytes);
	verdict->limit = judge->limits->most[check];
	compare(verdict, NULL, NULL);
	if (verdict->state == VERDICT_BROKEN)
		err = find_places(judge, verdict);
	for (uint32_t i = 0; i < verdict->place_count; i++)
		verdict->places[i].value = (uint64_t)((double)verdict->places[i].value /
						      (double)bytes * (double)verdict->value);
	return err;
}

static struct err *judge_limit(const struct judge *judge, enum check check)
{
	if (check_info(check)->unit == CHECK_UNIT_RATE)
		return judge->matching ? judge_growth_of_matching(judge, check)
				       : judge_growth(judge, check);
	return check_info(check)->scope == CHECK_SCOPE_OWN ? judge_own(judge, check)
							   : judge_sum(judge, check);
}

struct err *verdicts_make(const struct check_limits *limits, const struct check_baseline *baseline,
			  const struct recording *recording, struct symbolized *symbolized,
			  const struct check_matching *matching, struct verdicts *ret)
{
	cleanup(verdicts_deinit) struct verdicts verdicts = {.count = 0};
	cleanup(grown_deinit) struct grown grown = {0};
	struct judge judge = {limits, baseline, recording, symbolized, matching, &verdicts, &grown};
	struct err *err = NULL;

	for (enum check check = 0; !err && check < CHECKS; check++) {
		if (limits->has[check])
			err = judge_limit(&judge, check);
		if (!err && baseline && check_has_baseline(check))
			err = judge_by_baseline(&judge, check);
	}
	if (err)
		return err;
	verdicts.diff = steal(&grown.diff);
	*ret = verdicts;
	verdicts = (struct verdicts){0};
	return NULL;
}

void verdicts_deinit(struct verdicts *verdicts)
{
	diff_destroy(verdicts->diff);
	*verdicts = (struct verdicts){0};
}

uint32_t verdicts_count(const struct verdicts *verdicts, enum verdict_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < verdicts->count; i++)
		count += verdicts->items[i].state == state;
	return count;
}
