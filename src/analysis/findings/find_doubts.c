/* Errors of the program that the recording shows, and what the recording itself cannot tell. */
#include "analysis/findings/finding_search.h"
#include "analysis/names/own_code.h"
#include "analysis/sight/sight.h"
#include "analysis/views/hidden_heaps.h"
#include "hosted/cleanup.h"

#define BROKEN_PERCENT 1 /* of all bytes, from stacks of which frames are missing */

struct err *find_wrong_frees(struct finding_search *search)
{
	const struct error_facts *errors = search->facts ? &search->facts->errors : NULL;
	struct finding finding = {.kind = FINDING_WRONG_FREES, .view = "errors"};
	struct own_code code;
	struct err *err;

	if (!errors || !errors->frees)
		return NULL;
	err = own_code_of_stack(search->symbolized, errors->stack, &code);
	if (err)
		return err;
	finding.frame = code.own ? code.frame : NULL;
	finding.stack = errors->stack;
	finding_set(&finding, FINDING_NUMBER_calls, errors->frees);
	finding_set(&finding, FINDING_NUMBER_places, errors->places);
	return finding_search_add(search, &finding);
}

/* Adds a finding about the recording, with up to two numbers. */
static struct err *doubt(struct finding_search *search, enum finding_kind kind,
			 enum finding_number number, uint64_t value, enum finding_number more,
			 uint64_t more_value)
{
	struct finding finding = {.kind = kind, .stack = RECORDING_NONE};

	finding_set(&finding, number, value);
	finding_set(&finding, more, more_value);
	return finding_search_add(search, &finding);
}

static bool is_broken(const struct recorded_frame *frame)
{
	return frame->module == RECORDING_NONE &&
	       (frame->pc == TRACE_PC_BROKEN || frame->pc == TRACE_PC_LOST);
}

/* Sums up all stacks of which frames are missing. has: a byte for each node. */
static void add_broken(const struct finding_search *search, uint8_t *has, uint64_t *bytes,
		       uint64_t *calls)
{
	uint32_t node_count, frame_count;
	const struct stack_node *nodes = recording_stacks(search->recording, &node_count);
	const struct recorded_frame *frames = recording_frames(search->recording, &frame_count);

	for (uint32_t i = 0; i < node_count; i++)
		has[i] = is_broken(&frames[nodes[i].frame]) ||
			 (nodes[i].parent != RECORDING_NONE && has[nodes[i].parent]);
	for (uint32_t i = 0; i < search->site_count; i++) {
		const struct site *site = &search->sites[i];

		if (site->stack == RECORDING_NONE || !has[site->stack])
			continue;
		*bytes += site->total_bytes;
		*calls += site->calls;
	}
}

static struct err *find_broken(struct finding_search *search)
{
	uint64_t total = recording_summary(search->recording)->total_bytes, bytes = 0, calls = 0;
	auto_free uint8_t *has = NULL;
	uint32_t node_count;

	recording_stacks(search->recording, &node_count);
	has = malloc((size_t)node_count + 1);
	if (!has)
		return err_no_memory();
	add_broken(search, has, &bytes, &calls);
	if (!bytes || !is_percent(bytes, total, BROKEN_PERCENT))
		return NULL;
	return doubt(search, FINDING_BROKEN_STACKS, FINDING_NUMBER_calls, calls,
		     FINDING_NUMBER_bytes, bytes);
}

static struct err *find_hidden(struct finding_search *search)
{
	struct hidden_heaps heaps;
	struct err *err = hidden_heaps_find(search->recording, &heaps);

	for (int i = 0; !err && i < HIDDEN_HEAP_COUNT; i++) {
		struct finding finding = {.kind = FINDING_HIDDEN_HEAP, .stack = RECORDING_NONE};

		if (!heaps.of[i].count)
			continue;
		finding.subject = hidden_heap_owner((enum hidden_heap)i);
		finding_set(&finding, FINDING_NUMBER_bytes, heaps.of[i].peak_bytes);
		err = finding_search_add(search, &finding);
	}
	return err;
}

/* What sight.h knows: it may be stored, so that no file is read for it. */
static struct err *find_unexplained(struct finding_search *search)
{
	const struct unseen *list;
	uint32_t count;
	struct err *err = sight_list(recording_facts(search->recording), &list, &count);

	for (uint32_t i = 0; !err && i < count; i++)
		if (list[i].kind == TRACE_UNSEEN_RESIDENT && !sight_is_sanitizers(&list[i]))
			err = doubt(search, FINDING_UNEXPLAINED, FINDING_NUMBER_bytes,
				    list[i].bytes_at_most, FINDING_NUMBER_resident_bytes,
				    search->resident->resident);
	return err;
}

struct err *find_doubts(struct finding_search *search)
{
	const struct recording_facts *facts = recording_facts(search->recording);
	struct err *err = NULL;

	if (facts->lost)
		err = doubt(search, FINDING_LOST, FINDING_NUMBER_events, facts->lost,
			    FINDING_NUMBER_events, facts->lost);
	if (!err && (facts->damaged_chunks || facts->missing_chunks))
		err = doubt(search, FINDING_DAMAGED, FINDING_NUMBER_chunks,
			    facts->damaged_chunks + facts->missing_chunks, FINDING_NUMBER_chunks,
			    facts->damaged_chunks + facts->missing_chunks);
	if (!err)
		err = find_broken(search);
	if (!err)
		err = find_hidden(search);
	if (!err)
		err = find_unexplained(search);
	if (!err && facts->sample_mean)
		err = doubt(search, FINDING_SAMPLED, FINDING_NUMBER_mean_bytes, facts->sample_mean,
			    FINDING_NUMBER_mean_bytes, facts->sample_mean);
	if (!err && facts->stripped && facts->culled_allocations)
		err = doubt(search, FINDING_STRIPPED, FINDING_NUMBER_calls,
			    facts->culled_allocations, FINDING_NUMBER_calls,
			    facts->culled_allocations);
	else if (!err && facts->cull_ns && !facts->stripped)
		err = doubt(search, FINDING_CULLED, FINDING_NUMBER_cull_ns, facts->cull_ns,
			    FINDING_NUMBER_calls, facts->culled_allocations);
	return err;
}
