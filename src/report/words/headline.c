#include "report/words/headline.h"

#include "analysis/views/hidden_heaps.h"
#include "report/names/frame_name.h"
#include "report/words/format.h"

static void put_bytes(struct buf *buf, const struct style *style, uint64_t bytes)
{
	buf_text(buf, format_bytes(bytes, style->exact).text);
}

/* before, then the function, if it is known. */
static void put_function(struct buf *buf, const struct style *style, const char *before,
			 const struct picked_function *function)
{
	if (!function->frame)
		return;
	buf_text(buf, before);
	own_name_put(buf, style, function->frame);
}

static void put_block(struct buf *buf, const struct style *style, const struct headline *headline)
{
	buf_text(buf, ", of which ");
	put_bytes(buf, style, headline->block_bytes);
	buf_text(buf, headline->untimed ? " is one block" : " is one block that ");
	if (!headline->untimed && headline->block_freed)
		buf_printf(buf, "lived %s", format_time(headline->block_lived_ns).text);
	else if (!headline->untimed)
		buf_text(buf, headline->ended ? "was never freed" : "was not freed");
	put_function(buf, style, ", of ", &headline->block_function);
}

static void put_spread(struct buf *buf, const struct style *style, const struct headline *headline)
{
	struct formatted share = format_percent(headline->function.value, headline->peak_bytes);

	if (headline->peak_blocks) {
		buf_text(buf, " in ");
		buf_text(buf, format_counted(headline->peak_blocks, "block", style->exact).text);
	}
	if (!headline->function.frame)
		return;
	buf_printf(buf, "; no function has more than %s, ", share.text);
	own_name_put(buf, style, headline->function.frame);
	buf_text(buf, " has most");
}

void headline_write_peak(struct buf *buf, const struct style *style,
			 const struct headline *headline)
{
	static const char *const texts[] = {
		[HEADLINE_OF_RUN] = " live",
		[HEADLINE_OF_PEAK] = " live at the peak",
		[HEADLINE_OF_DUMP] = " live",
		[HEADLINE_OF_LEAKS] = " never freed",
		[HEADLINE_OF_TOTAL] = " allocated in all",
	};

	if (headline->clause == HEADLINE_NOTHING) {
		buf_text(buf,
			 headline->blind ? "No allocation was seen." : "Nothing was allocated.");
		return;
	}
	if (headline->clause == HEADLINE_STEADY) {
		buf_text(buf, "Some ");
		put_bytes(buf, style, headline->peak_bytes);
		buf_printf(buf, " was live from %s to the end",
			   format_time(headline->steady_ns).text);
		put_function(buf, style, ", most of it for ", &headline->function);
		buf_char(buf, '.');
		return;
	}
	if (headline->of == HEADLINE_OF_RUN && headline->untimed)
		buf_text(buf, "Most memory: ");
	else if (headline->of == HEADLINE_OF_RUN)
		buf_printf(buf, "Most memory at %s: ", format_time(headline->peak_ns).text);
	put_bytes(buf, style, headline->peak_bytes);
	buf_text(buf, texts[headline->of]);
	if (headline->clause == HEADLINE_BLOCK) {
		put_block(buf, style, headline);
	} else if (headline->clause == HEADLINE_FUNCTION) {
		buf_printf(buf, ", %s of it",
			   format_percent(headline->function.value, headline->peak_bytes).text);
		put_function(buf, style, " for ", &headline->function);
	} else {
		put_spread(buf, style, headline);
	}
	buf_char(buf, '.');
}

static void put_fact(struct buf *buf, const struct style *style, const struct headline *headline,
		     const struct headline_said *said)
{
	const uint64_t *numbers = said->numbers;
	bool ended = headline->ended;

	switch (said->fact) {
	case HEADLINE_UNEXPLAINED:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, " or more is resident that no recorded block or mapping explains.");
		break;
	case HEADLINE_UNSEEN:
		buf_text(buf, "Up to ");
		put_bytes(buf, style, numbers[0]);
		buf_printf(buf, " more is in blocks that %s hides: %s shows them.",
			   headline->unseen, hidden_heap_option(headline->unseen));
		break;
	case HEADLINE_MAPPED:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, " is resident beyond what malloc handed out: ");
		buf_text(buf, format_counted(numbers[1], headline->mapper_call, style->exact).text);
		buf_text(buf, headline->mapper || headline->mapper_owner ? " by " : "");
		if (headline->mapper)
			own_name_put(buf, style, headline->mapper);
		else if (headline->mapper_owner)
			buf_text(buf, headline->mapper_owner);
		buf_char(buf, '.');
		break;
	case HEADLINE_GROWS:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, ended ? " was never freed and grew to the end, by "
				    : " was not freed and grew to the end, by ");
		put_bytes(buf, style, numbers[1]);
		buf_text(buf, " a second.");
		break;
	case HEADLINE_GREW:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, " grew until it was freed at the end.");
		break;
	case HEADLINE_RESIDENT:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, " stayed resident when ");
		put_bytes(buf, style, numbers[1]);
		buf_text(buf, " was live.");
		break;
	case HEADLINE_TEMPORARY:
		buf_text(buf, format_percent(numbers[0], numbers[1]).text);
		buf_text(buf, " of all calls were temporary.");
		break;
	case HEADLINE_WRONG_FREES:
		buf_text(buf, format_counted(numbers[0], "free", style->exact).text);
		buf_text(buf, numbers[0] == 1 ? " was wrong." : " were wrong.");
		break;
	case HEADLINE_NEVER_FREED:
		put_bytes(buf, style, numbers[0]);
		buf_text(buf, ended ? " was never freed" : " was not freed");
		if (numbers[1]) // sums may not know them
			buf_printf(buf, ", in %s",
				   format_counted(numbers[1], "block", style->exact).text);
		buf_char(buf, '.');
		break;
	case HEADLINE_LIBRARIES:
		buf_text(buf, "Everything of your own code was freed; libraries keep ");
		put_bytes(buf, style, numbers[0]);
		buf_char(buf, '.');
		break;
	case HEADLINE_MAPPINGS_LEFT:
		buf_text(buf, headline->blind ? "Every block that was seen was freed"
			      : numbers[1]    ? "Every block of your own code was freed"
					      : "Every block was freed");
		if (numbers[0]) {
			buf_text(buf, "; ");
			put_bytes(buf, style, numbers[0]);
			buf_text(buf, " of its own mappings were not");
		}
		buf_char(buf, '.');
		break;
	case HEADLINE_SEEN_FREED:
		buf_text(buf, numbers[0] ? "Every block of your own code that was seen was freed."
					 : "Every block that was seen was freed.");
		break;
	case HEADLINE_ALL_FREED:
		buf_text(buf, "Everything was freed.");
		break;
	}
}

void headline_write_facts(struct buf *buf, const struct style *style,
			  const struct headline *headline)
{
	size_t before = buf->size;

	for (unsigned int i = 0; i < headline->fact_count; i++) {
		// Of a program without blocks only this can be said.
		if (!headline->peak_bytes && !headline_needs_no_blocks(&headline->facts[i]))
			continue;
		if (buf->size > before)
			buf_char(buf, ' ');
		put_fact(buf, style, headline, &headline->facts[i]);
	}
}

void headline_write_freed(struct buf *buf, const struct style *style,
			  const struct headline *headline)
{
	if (headline->peak_bytes && headline->of == HEADLINE_OF_RUN && !headline->sums &&
	    headline->freed.fact != HEADLINE_NEVER_FREED)
		put_fact(buf, style, headline, &headline->freed);
}
