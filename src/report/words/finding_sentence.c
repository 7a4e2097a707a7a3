#include "report/words/finding_sentence.h"

#include <string.h>

#include "analysis/facts/run_facts.h"
#include "analysis/filter/filter.h"
#include "analysis/views/hidden_heaps.h"
#include "report/names/frame_name.h"
#include "report/words/format.h"
#include "report/words/shell_word.h"

/* What a sentence is made of. */
struct sentence {
	struct buf *buf;
	const struct style *style;
	const struct recording *recording;
	const struct finding *finding;
};

static uint64_t number(const struct sentence *sentence, enum finding_number which)
{
	return sentence->finding->numbers[which];
}

static void put_text(const struct sentence *sentence, const char *text)
{
	buf_text(sentence->buf, text);
}

static void put_bytes(const struct sentence *sentence, enum finding_number which)
{
	put_text(sentence, format_bytes(number(sentence, which), sentence->style->exact).text);
}

static void put_time(const struct sentence *sentence, enum finding_number which)
{
	put_text(sentence, format_time(number(sentence, which)).text);
}

static void put_count(const struct sentence *sentence, enum finding_number which, const char *noun)
{
	put_text(sentence,
		 format_counted(number(sentence, which), noun, sentence->style->exact).text);
}

/* ", for std::make_shared<Session>": what the function asked for, if a type tells it. */
static void put_call(const struct sentence *sentence)
{
	const struct named_frame *call = sentence->finding->call;

	if (!call || !own_name_has_type(call))
		return;
	put_text(sentence, sentence->finding->call_most ? ", for " : ", most for ");
	own_name_put_call(sentence->buf, sentence->style, call);
}

/* before, then the function, if there is one, its line, and what it asked for. */
static void put_function(const struct sentence *sentence, const char *before)
{
	const struct finding *finding = sentence->finding;

	if (!finding->frame)
		return;
	put_text(sentence, before);
	own_name_put(sentence->buf, sentence->style, finding->frame);
	if (finding->lines > 1)
		buf_printf(sentence->buf, " and %s more",
			   format_counted(finding->lines - 1, "line", true).text);
	put_call(sentence);
}

static void put_never_freed(const struct sentence *sentence)
{
	uint64_t duration = recording_facts(sentence->recording)->duration_ns;

	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, recording_facts_have_end(recording_facts(sentence->recording))
				   ? " never freed, "
				   : " not freed, ");
	switch (sentence->finding->kind) {
	case FINDING_GROWS:
		put_text(sentence, "growing to the end");
		break;
	case FINDING_STEPS:
		put_text(sentence, "in ");
		put_count(sentence, FINDING_NUMBER_steps, "step");
		break;
	case FINDING_FLAT:
		put_text(sentence, "since ");
		put_time(sentence, FINDING_NUMBER_since_ns);
		put_text(sentence, ", not growing");
		break;
	case FINDING_ONCE:
		put_text(sentence, "once, by ");
		put_time(sentence, FINDING_NUMBER_until_ns);
		break;
	case FINDING_LATE:
		put_text(sentence, "in the last ");
		put_text(sentence, format_time(duration / FACTS_LATE).text);
		break;
	default:
		put_text(sentence, "the last of it by ");
		put_time(sentence, FINDING_NUMBER_until_ns);
		break;
	}
	put_function(sentence, ": ");
}

static void put_grows_to_teardown(const struct sentence *sentence)
{
	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, " grew until it was freed at the end");
	put_function(sentence, ": ");
}

static void put_large_block(const struct sentence *sentence)
{
	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, " in one block makes the peak, ");
	put_bytes(sentence, FINDING_NUMBER_without_bytes);
	put_text(sentence, " without");
	put_function(sentence, ": ");
}

static void put_sparse_pages(const struct sentence *sentence)
{
	uint64_t room = number(sentence, FINDING_NUMBER_pages) * FACTS_PAGE;

	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, " of blocks keep ");
	put_text(sentence, format_bytes(room, sentence->style->exact).text);
	put_text(sentence, " of pages, ");
	put_text(sentence, format_percent(number(sentence, FINDING_NUMBER_bytes), room).text);
	put_text(sentence, " used, at ");
	put_time(sentence, FINDING_NUMBER_at_ns);
	put_function(sentence, ": most by ");
}

static void put_resident(const struct sentence *sentence)
{
	if (sentence->finding->kind == FINDING_UNTOUCHED) {
		put_bytes(sentence, FINDING_NUMBER_live_bytes);
		put_text(sentence, " live, ");
		put_bytes(sentence, FINDING_NUMBER_resident_bytes);
		put_text(sentence, " of memory in use: the rest was not touched, at ");
	} else {
		put_bytes(sentence, FINDING_NUMBER_resident_bytes);
		put_text(sentence, " stayed resident when ");
		put_bytes(sentence, FINDING_NUMBER_live_bytes);
		put_text(sentence, " was live, at ");
	}
	put_time(sentence, FINDING_NUMBER_at_ns);
}

static void put_mapped(const struct sentence *sentence)
{
	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, " resident beyond what malloc handed out: ");
	put_count(sentence, FINDING_NUMBER_mappings, sentence->finding->subject);
	put_text(sentence, sentence->finding->owner ? " by " : "");
	put_text(sentence, sentence->finding->owner ? sentence->finding->owner : "");
	put_function(sentence, " by ");
}

/* ", 90 % of them of churn": which part of it is the function's, if there is one. */
static void put_share(const struct sentence *sentence, enum finding_number part,
		      enum finding_number whole, const char *of)
{
	if (!sentence->finding->frame)
		return;
	put_text(sentence, ", ");
	put_text(sentence, format_percent(number(sentence, part), number(sentence, whole)).text);
	put_function(sentence, of);
}

static void put_slack(const struct sentence *sentence)
{
	put_bytes(sentence, FINDING_NUMBER_all_bytes);
	put_text(sentence, " of slack at the peak");
	put_share(sentence, FINDING_NUMBER_slack_bytes, FINDING_NUMBER_all_bytes, " of it of ");
}

static void put_temporary(const struct sentence *sentence)
{
	put_count(sentence, FINDING_NUMBER_all_calls, "temporary call");
	put_share(sentence, FINDING_NUMBER_calls, FINDING_NUMBER_all_calls, " of them of ");
}

static void put_churn(const struct sentence *sentence)
{
	put_count(sentence, FINDING_NUMBER_calls, "call");
	put_text(sentence, " made ");
	put_bytes(sentence, FINDING_NUMBER_bytes);
	put_text(sentence, " in all, of which at most ");
	put_bytes(sentence, FINDING_NUMBER_live_bytes);
	put_text(sentence, " was live at once");
	put_function(sentence, ": ");
}

static void put_chains(const struct sentence *sentence)
{
	put_count(sentence, FINDING_NUMBER_calls, "realloc");
	put_text(sentence, " copied up to ");
	put_bytes(sentence, FINDING_NUMBER_copied_bytes);
	put_text(sentence, ", ");
	put_bytes(sentence, FINDING_NUMBER_reserve_bytes);
	put_text(sentence, " at once covers ");
	put_text(sentence, format_percent(number(sentence, FINDING_NUMBER_reserved_chains),
					  number(sentence, FINDING_NUMBER_chains))
				   .text);
	put_function(sentence, ": ");
}

static void put_freed_by_others(const struct sentence *sentence)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(sentence->recording, &count);
	const char *name = threads[number(sentence, FINDING_NUMBER_thread)].name;

	put_count(sentence, FINDING_NUMBER_blocks, "block");
	put_text(sentence, " of other threads freed by ");
	style_safe_text(sentence->buf, name, strlen(name));
	put_function(sentence, ": most of ");
}

static void put_doubt(const struct sentence *sentence)
{
	switch (sentence->finding->kind) {
	case FINDING_LOST:
		put_count(sentence, FINDING_NUMBER_events, "event");
		put_text(sentence, " lost: the numbers are too low");
		break;
	case FINDING_DAMAGED:
		put_count(sentence, FINDING_NUMBER_chunks, "chunk");
		put_text(sentence, " of the file missing or damaged: the numbers are too low");
		break;
	case FINDING_BROKEN_STACKS:
		put_bytes(sentence, FINDING_NUMBER_bytes);
		put_text(sentence, " in all allocated from stacks whose outer frames are missing");
		break;
	case FINDING_HIDDEN_HEAP:
		put_bytes(sentence, FINDING_NUMBER_bytes);
		put_text(sentence, " of memory mapped by ");
		put_text(sentence, sentence->finding->subject);
		put_text(sentence, "'s own allocator, whose blocks no number here counts: ");
		put_text(sentence, hidden_heap_option(sentence->finding->subject));
		put_text(sentence, " shows them");
		break;
	case FINDING_UNEXPLAINED:
		put_bytes(sentence, FINDING_NUMBER_bytes);
		put_text(sentence,
			 " or more resident is in no block and no mapping that was recorded: "
			 "mallow does not see what it is for");
		break;
	case FINDING_SAMPLED:
		put_text(sentence, "a sample, one in ");
		put_bytes(sentence, FINDING_NUMBER_mean_bytes);
		put_text(sentence, ": the numbers are estimates");
		break;
	case FINDING_STRIPPED:
		put_count(sentence, FINDING_NUMBER_calls, "block");
		put_text(sentence,
			 " that were freed and not live at the peak are in sums only: the "
			 "recording is stripped");
		break;
	default:
		put_count(sentence, FINDING_NUMBER_calls, "block");
		put_text(sentence, " that lived less than ");
		put_time(sentence, FINDING_NUMBER_cull_ns);
		put_text(sentence, " are in totals only");
		break;
	}
}

static void put_wrong_frees(const struct sentence *sentence)
{
	put_count(sentence, FINDING_NUMBER_calls, "wrong free");
	if (number(sentence, FINDING_NUMBER_places) > 1) {
		put_text(sentence, " of ");
		put_count(sentence, FINDING_NUMBER_places, "kind");
	}
	put_function(sentence,
		     number(sentence, FINDING_NUMBER_places) > 1 ? ", the first in " : ": ");
}

void finding_sentence_write(struct buf *buf, const struct style *style,
			    const struct recording *recording, const struct finding *finding)
{
	static void (*const writers[FINDING_KINDS])(const struct sentence *sentence) = {
		[FINDING_WRONG_FREES] = put_wrong_frees,
		[FINDING_GROWS] = put_never_freed,
		[FINDING_GROWS_TO_TEARDOWN] = put_grows_to_teardown,
		[FINDING_STEPS] = put_never_freed,
		[FINDING_STOPPED] = put_never_freed,
		[FINDING_FLAT] = put_never_freed,
		[FINDING_ONCE] = put_never_freed,
		[FINDING_LATE] = put_never_freed,
		[FINDING_LARGE_BLOCK] = put_large_block,
		[FINDING_SPARSE_PAGES] = put_sparse_pages,
		[FINDING_STAYED_RESIDENT] = put_resident,
		[FINDING_UNTOUCHED] = put_resident,
		[FINDING_MAPPED] = put_mapped,
		[FINDING_SLACK] = put_slack,
		[FINDING_TEMPORARY] = put_temporary,
		[FINDING_CHURN] = put_churn,
		[FINDING_REALLOC_CHAINS] = put_chains,
		[FINDING_FREED_BY_OTHERS] = put_freed_by_others,
	};
	struct sentence sentence = {buf, style, recording, finding};

	(writers[finding->kind] ? writers[finding->kind] : put_doubt)(&sentence);
}

bool finding_has_command(const struct finding *finding)
{
	return finding->condition_count || finding->view;
}

static void put_option(struct buf *buf, const char *name)
{
	char option[FILTER_OPTION_SIZE];

	filter_option_name(name, option);
	buf_printf(buf, " --%s", option);
}

void finding_command_write(struct buf *buf, const struct finding *finding, const char *tool,
			   const char *path)
{
	shell_word_put(buf, tool);
	buf_text(buf, " report");
	if (finding->view)
		put_option(buf, finding->view);
	if (finding->sort) {
		put_option(buf, "sort");
		buf_printf(buf, " %s", finding->sort);
	}
	for (uint32_t i = 0; i < finding->condition_count; i++) {
		put_option(buf, finding->conditions[i].name);
		buf_char(buf, ' ');
		shell_word_put(buf, finding->conditions[i].value);
	}
	buf_char(buf, ' ');
	shell_path_put(buf, path);
}
