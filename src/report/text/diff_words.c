#include "report/text/diff_words.h"

#include <stdio.h>

struct formatted diff_words_value(const struct style *style, enum metric metric, uint64_t number)
{
	return metric_info(metric)->bytes ? format_bytes(number, style->exact)
					  : format_count(number, style->exact);
}

struct formatted diff_words_change(const struct style *style, enum metric metric, int64_t number)
{
	return format_change(number, metric_info(metric)->bytes, style->exact);
}

struct formatted diff_words_percent(uint64_t before, uint64_t after)
{
	struct formatted result = {0};
	double share;

	if (before == after)
		return format_word("-");
	if (!before)
		return format_word("new");
	if (!after)
		return format_word("gone");
	share = ((double)after - (double)before) / (double)before * 100;
	if (share >= 1000)
		snprintf(result.text, sizeof(result.text), "\xc3\x97 %.3g",
			 (double)after / (double)before);
	else
		snprintf(result.text, sizeof(result.text),
			 share <= -9.95 || share >= 9.95 ? "%+.0f %%" : "%+.1f %%", share);
	return result;
}

const char *diff_words_metric(const struct diff_view *view, enum metric metric)
{
	static const char *const words[METRIC_COUNT] = {
		[METRIC_PEAK] = "live at the peak",     [METRIC_LEAKED] = "never freed",
		[METRIC_TOTAL] = "allocated in all",    [METRIC_CALLS] = "allocations",
		[METRIC_TEMPORARY] = "temporary calls",
	};

	// All that was live at a moment was allocated, and none of it freed.
	if (diff_view_of_moments(view) && (metric == METRIC_PEAK || metric == METRIC_TOTAL))
		return "live then";
	// Frees may be among what is missing of a side.
	for (int side = 0; metric == METRIC_LEAKED && side < DIFF_SIDES; side++)
		if (recording_facts_have_gaps(recording_facts(view->diff->sides[side])))
			return "not freed";
	return words[metric];
}
