#include "report/text/findings_text.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/finding_sentence.h"
#include "report/words/format.h"
#include "report/words/headline.h"

#define INDENT 5 /* of a finding's second line */

/* Writes the text of a buffer as lines, and empties it. */
static void put_sentence(struct buf *buf, const struct style *style, struct buf *text)
{
	const char *string = buf_string(text);

	if (string && *string)
		style_wrap(buf, style, string, 0, 0, false);
	text->size = 0;
}

void findings_text_headline(struct buf *buf, const struct style *style,
			    const struct headline *headline)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct style plain = *style;

	plain.colour = false;
	headline_write_peak(&text, &plain, headline);
	style_begin(buf, style, STYLE_STRONG);
	put_sentence(buf, style, &text);
	style_end(buf, style);
	headline_write_facts(&text, &plain, headline);
	put_sentence(buf, style, &text);
}

static void put_finding(struct buf *buf, const struct style *style,
			const struct recording *recording, const struct finding *finding,
			uint32_t number, const struct findings_text_words *words)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct style plain = *style;
	const char *string;

	plain.colour = false;
	finding_sentence_write(&text, &plain, recording, finding);
	string = buf_string(&text);
	buf_printf(buf, "%3u. ", number);
	style_wrap(buf, style, string ? string : "", INDENT, INDENT, false);
	if (!finding_has_command(finding))
		return;
	text.size = 0;
	finding_command_write(&text, finding, words->tool, words->path);
	string = buf_string(&text);
	buf_repeat(buf, ' ', INDENT);
	style_begin(buf, style, STYLE_DIM);
	style_wrap(buf, style, string ? string : "", INDENT, INDENT + 2, true);
	style_end(buf, style);
}

void findings_text_list(struct buf *buf, const struct style *style,
			const struct recording *recording, const struct findings *findings,
			uint32_t most, const struct findings_text_words *words)
{
	uint32_t count, shown;
	const struct finding *list = findings_list(findings, &count);

	shown = most && most < count ? most : count;
	if (shown)
		style_printf(buf, style, STYLE_STRONG, "What stands out\n");
	for (uint32_t i = 0; i < shown; i++)
		put_finding(buf, style, recording, &list[i], i + 1, words);
	if (shown < count)
		buf_printf(buf, "     \xe2\x80\xa6 %u more (--full shows them)\n", count - shown);
	// Of sums alone nobody expects it.
	if (findings_missing(findings) && !recording_facts(recording)->aggregate)
		style_printf(buf, style, STYLE_DIM, "  not looked for all: %s\n",
			     findings_missing(findings));
}
