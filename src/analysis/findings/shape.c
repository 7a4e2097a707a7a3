#include "analysis/findings/shape.h"

#include <stdbool.h>

#include "analysis/findings/percent.h"

#define EIGHTHS (FACTS_POINTS / 2)

/* Fewer blocks than these say little about how bytes come. */
#define BLOCKS_CLEAR  100
#define BLOCKS_LIKELY 10

/* How near to a straight line growth is: r squared. */
#define LINE_CLEAR  0.9
#define LINE_LIKELY 0.7

const char *shape_word(enum shape shape)
{
	static const char *const words[] = {
		[SHAPE_NONE] = "none",       [SHAPE_LATE] = "late",   [SHAPE_ONCE] = "once",
		[SHAPE_FLAT] = "flat",       [SHAPE_GROWS] = "grows", [SHAPE_STEPS] = "steps",
		[SHAPE_STOPPED] = "stopped",
	};

	return words[shape];
}

static uint64_t sum_of(const uint64_t *numbers, unsigned int first, unsigned int count)
{
	uint64_t sum = 0;

	for (unsigned int i = first; i < first + count; i++)
		sum += numbers[i];
	return sum;
}

static bool is_once(const struct shape_input *input, uint64_t all)
{
	for (unsigned int i = 0; i < EIGHTHS; i++)
		if (is_percent(sum_of(input->kept, 2 * i, 2), all, 90))
			return true;
	return false;
}

/* By what was live, and not only by what was kept: a cache drops old blocks for new ones. */
static bool is_flat(const struct shape_input *input)
{
	return is_percent(input->live[FACTS_POINTS / 2 - 1], input->live[FACTS_POINTS - 1], 95);
}

static bool is_growing(const struct shape_input *input, unsigned int first)
{
	unsigned int since = first / 2, filled = 0;
	uint64_t most = 0;

	for (unsigned int i = 1; i < EIGHTHS; i++)
		filled += sum_of(input->kept, 2 * i, 2) != 0;
	if (since && filled == EIGHTHS - since && filled >= 3)
		filled = EIGHTHS; // it began later, and went on
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		most = input->live[i] > most ? input->live[i] : most;
	return filled >= EIGHTHS - 2 && is_percent(input->live[FACTS_POINTS - 1], most, 95);
}

/* r squared of the line through what was kept by the end of each part, from the first one on. */
static double straightness(const struct shape_input *input, unsigned int first)
{
	double n = FACTS_POINTS - first, x = 0, y = 0, xx = 0, yy = 0, xy = 0, kept = 0;

	for (unsigned int i = first; i < FACTS_POINTS; i++) {
		kept += (double)input->kept[i];
		x += i;
		y += kept;
		xx += (double)i * i;
		yy += kept * kept;
		xy += i * kept;
	}
	x = n * xx - x * x;
	xy = n * xy - (n * (n - 1) / 2 + n * first) * y;
	y = n * yy - y * y;
	return x > 0 && y > 0 ? xy * xy / (x * y) : 0;
}

static enum finding_trust trust_in(const struct shape_input *input,
				   const struct shape_result *result)
{
	double line = result->shape == SHAPE_GROWS ? straightness(input, result->first) : 1;

	if (result->shape == SHAPE_LATE || result->shape == SHAPE_STOPPED)
		return FINDING_TRUST_UNCLEAR;
	if (result->shape == SHAPE_ONCE)
		return FINDING_TRUST_CLEAR;
	if (input->kept_blocks >= BLOCKS_CLEAR && line >= LINE_CLEAR)
		return result->shape == SHAPE_GROWS ? FINDING_TRUST_CLEAR : FINDING_TRUST_LIKELY;
	return input->kept_blocks >= BLOCKS_LIKELY && line >= LINE_LIKELY ? FINDING_TRUST_LIKELY
									  : FINDING_TRUST_UNCLEAR;
}

static enum shape find(const struct shape_input *input, const struct shape_result *result,
		       uint64_t all)
{
	if (is_percent(input->late_bytes, all, 90))
		return SHAPE_LATE;
	if (is_once(input, all))
		return SHAPE_ONCE;
	if (is_flat(input))
		return SHAPE_FLAT;
	if (is_growing(input, result->first))
		return SHAPE_GROWS;
	return result->steps >= 3 ? SHAPE_STEPS : SHAPE_STOPPED;
}

struct shape_result shape_judge(const struct shape_input *input)
{
	uint64_t all = sum_of(input->kept, 0, FACTS_POINTS);
	struct shape_result result = {.first = FACTS_POINTS};

	for (unsigned int i = 0; i < FACTS_POINTS; i++) {
		if (!input->kept[i])
			continue;
		if (result.first == FACTS_POINTS)
			result.first = i;
		result.steps += !i || !input->kept[i - 1];
		result.last = i;
	}
	if (!all) {
		result.first = 0;
		return result;
	}
	result.shape = find(input, &result, all);
	result.trust = trust_in(input, &result);
	return result;
}

/* A shorter run is start-up. */
#define RUN_NS_MIN 50000000

struct shape_result shape_judge_run(const struct shape_input *input, uint64_t duration_ns)
{
	struct shape_result result = shape_judge(input);

	if (result.shape == SHAPE_NONE || duration_ns >= RUN_NS_MIN)
		return result;
	result.shape = SHAPE_ONCE;
	result.trust = FINDING_TRUST_UNCLEAR;
	return result;
}

uint64_t shape_begin_ns(const uint64_t *ends_ns, unsigned int part)
{
	return part ? ends_ns[part - 1] : 0;
}

uint64_t shape_rate(const struct shape_result *shape, uint64_t bytes, const uint64_t *ends_ns)
{
	uint64_t since = shape_begin_ns(ends_ns, shape->first);
	uint64_t duration_ns = ends_ns[FACTS_POINTS - 1];
	double each_second;

	if (shape->shape != SHAPE_GROWS || duration_ns <= since)
		return 0;
	each_second = (double)bytes * 1e9 / (double)(duration_ns - since);
	// Of a file that was made up, more than fits is that much.
	return each_second < 1e19 ? (uint64_t)each_second : UINT64_MAX;
}
