#include "analysis/checks/verdicts.h"

#include "analysis/breakdown/places.h"
#include "analysis/checks/grown.h"
#include "analysis/filter/moment.h"
#include "analysis/findings/findings.h"
#include "analysis/leaks/suppressed.h"
#include "hosted/cleanup.h"

struct judge {
	const struct check_limits *limits;
	const struct check_baseline *baseline;
	const struct recording *recording;
	struct symbolized *symbolized;
	struct verdicts *verdicts;
	struct grown *grown;
};

/* Why a recording does not have the sum. NULL: it has it. */
static const char *unknown_sum(enum check check, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	if (check_info(check)->metric != METRIC_TEMPORARY)
		return NULL;
	if (facts->sample_mean)
		return "a sample does not tell which calls are temporary";
	// Culled calls are known by site only, not to a filter.
	return facts->filtered && facts->cull_ns
		       ? "with CULL, a filter does not tell which calls are temporary"
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

static void compare(struct verdict *verdict, const char *unknown)
{
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
	compare(verdict, unknown_sum(check, judge->recording));
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

static struct err *judge_by_baseline(const struct judge *judge, enum check check)
{
	const struct check_baseline *baseline = judge->baseline;
	struct verdict *verdict = add(judge, check);
	const char *unknown = unknown_sum(check, judge->recording);

	verdict->of_baseline = true;
	verdict->before =
		metric_of_sum(check_info(check)->metric, recording_summary(baseline->recording));
	verdict->limit =
		saturated_sum(verdict->before, percent_of(baseline->tolerance, verdict->before));
	compare(verdict, unknown ? unknown : unknown_sum(check, baseline->recording));
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

CLEANUP_DEFINE(struct findings *, findings_destroy);

/* The rate is that of findings: of one function, because stacks may be in several of them. */
static struct err *judge_growth(const struct judge *judge, enum check check)
{
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	struct verdict *verdict = add(judge, check);
	struct err *err = findings_create(judge->recording, judge->symbolized, &findings);
	const struct finding *list;
	uint32_t count;

	if (err)
		return err;
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
	compare(verdict, findings_missing(findings));
	return NULL;
}

static struct err *judge_limit(const struct judge *judge, enum check check)
{
	if (check_info(check)->unit == CHECK_UNIT_RATE)
		return judge_growth(judge, check);
	return check_info(check)->scope == CHECK_SCOPE_OWN ? judge_own(judge, check)
							   : judge_sum(judge, check);
}

struct err *verdicts_make(const struct check_limits *limits, const struct check_baseline *baseline,
			  const struct recording *recording, struct symbolized *symbolized,
			  struct verdicts *ret)
{
	cleanup(verdicts_deinit) struct verdicts verdicts = {.count = 0};
	cleanup(grown_deinit) struct grown grown = {0};
	struct judge judge = {limits, baseline, recording, symbolized, &verdicts, &grown};
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
