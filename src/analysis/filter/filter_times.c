#include "analysis/filter/filter_times.h"

#include "analysis/filter/filter_keep.h"
#include "base/compiler.h"

/*
 * Keeps blocks for which left - right is in the range. If left is TIME_NEVER, so is the difference.
 */
static void keep_difference(struct filter_match *match, const uint64_t *left, const uint64_t *right,
			    struct range range)
{
	if (!keep_is_settled(match, range)) {
		KEEP(match,
		     range_has(range, left[i] == TIME_NEVER ? TIME_NEVER : left[i] - right[i]));
	}
}

/* When matching blocks were allocated and freed. TIME_NEVER counts as larger than all times. */
struct times {
	struct range allocated, freed;
	bool none; /* a moment is before the start: nothing matches */
};

static void not_above(uint64_t *max, uint64_t bound)
{
	*max = bound < *max ? bound : *max;
}

static void at_most(struct times *times, uint64_t *max, int64_t bound)
{
	times->none |= bound < 0;
	if (bound >= 0)
		not_above(max, (uint64_t)bound);
}

static void at_least(uint64_t *min, int64_t bound)
{
	if (bound > 0 && (uint64_t)bound > *min)
		*min = (uint64_t)bound;
}

struct err *filter_moment(const struct filter *filter, const struct recording *recording,
			  enum filter_id id, bool *set, int64_t *ret)
{
	const struct filter_condition *condition = &filter->conditions[id];
	bool end_of_second = id == FILTER_TO || id == FILTER_UNTIL || id == FILTER_FREED_TO ||
			     id == FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX;

	*set = filter_has(filter, id);
	if (!*set)
		return NULL;
	return err_prefix(moment_resolve(&condition->moment, recording, end_of_second, ret), "%s",
			  condition->name);
}

/* Narrows the times to what the condition allows, of which that is the moment. */
static void take_moment(struct times *times, enum filter_id id, int64_t moment)
{
	switch (id) {
	case FILTER_FROM:
		at_least(&times->allocated.min, moment);
		break;
	case FILTER_FREED_FROM:
		at_least(&times->freed.min, moment);
		not_above(&times->freed.max, TIME_NEVER - 1);
		break;
	case FILTER_FREED_TO:
		at_most(times, &times->freed.max, moment);
		break;
	case FILTER_ALIVE_AT:
	case FILTER_ALIVE_AT_2:
		if (moment < INT64_MAX)
			at_least(&times->freed.min, moment + 1);
		at_most(times, &times->allocated.max, moment);
		break;
	default:
		at_most(times, &times->allocated.max, moment);
	}
}

static struct err *find_moments(const struct filter *filter, const struct recording *recording,
				struct times *times)
{
	static const enum filter_id ids[] = {FILTER_FROM,       FILTER_TO,       FILTER_UNTIL,
					     FILTER_FREED_FROM, FILTER_FREED_TO, FILTER_ALIVE_AT,
					     FILTER_ALIVE_AT_2};

	for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
		int64_t moment = 0;
		bool set;
		struct err *err = filter_moment(filter, recording, ids[i], &set, &moment);

		if (err)
			return err;
		if (set)
			take_moment(times, ids[i], moment);
	}
	return NULL;
}

/*
 * Sets the range that the condition lifetime means. to: the end of the range that two of its values
 * speak of; TIME_NEVER: none.
 */
static void find_lifetime(const struct filter *filter, uint64_t to, struct times *times)
{
	struct range *freed = &times->freed;
	uint64_t end = to == TIME_NEVER ? TIME_NEVER - 1 : to;

	if (!filter_has(filter, FILTER_LIFETIME))
		return;
	switch ((enum filter_lifetime)filter->conditions[FILTER_LIFETIME].number) {
	case FILTER_LIFETIME_ALL:
	case FILTER_LIFETIME_CHAIN_LEAKED:
		break;
	case FILTER_LIFETIME_LEAKED:
	case FILTER_LIFETIME_GROUP_LEAKED:
		freed->min = TIME_NEVER;
		break;
	case FILTER_LIFETIME_NOT_FREED_IN_RANGE:
		freed->min = end + 1 > freed->min ? end + 1 : freed->min;
		break;
	case FILTER_LIFETIME_FREED_IN_RANGE:
		not_above(&freed->max, end);
		break;
	case FILTER_LIFETIME_FREED:
		not_above(&freed->max, TIME_NEVER - 1);
		break;
	}
}

struct err *filter_times(const struct filter *filter, const struct recording *recording,
			 const struct block_columns *blocks, struct filter_match *match)
{
	struct times times = {.allocated = RANGE_ALL, .freed = RANGE_ALL};
	int64_t ends[2] = {INT64_MAX, INT64_MAX};
	struct err *err = find_moments(filter, recording, &times);
	bool to = false, until = false;

	if (!err)
		err = filter_moment(filter, recording, FILTER_TO, &to, &ends[0]);
	if (!err)
		err = filter_moment(filter, recording, FILTER_UNTIL, &until, &ends[1]);
	if (err)
		return err;
	if (times.none) {
		keep_none(match);
		return NULL;
	}
	find_lifetime(filter,
		      to || until ? (uint64_t)(ends[0] < ends[1] ? ends[0] : ends[1]) : TIME_NEVER,
		      &times);
	keep_range(match, blocks->allocated_ns, times.allocated);
	keep_range(match, blocks->freed_ns, times.freed);
	keep_difference(match, blocks->freed_ns, blocks->allocated_ns,
			filter_range(filter, FILTER_LIFETIME_MIN));
	return NULL;
}
