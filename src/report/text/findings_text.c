#include "report/text/findings_text.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/finding_sentence.h"
#include "report/words/format.h"
#include "report/words/headline.h"

#define INDENT 5 /* of a finding's second line */

/* The end of the word at text: a blank that is in no quotes, or the end of the text. */
static const char *word_end(const char *text, bool quotes)
{
	bool quoted = false;

	for (; *text && (quoted || *text != ' '); text++)
		quoted ^= quotes && *text == '\'';
	return text;
}

/*
 * Writes a text in lines of at most width columns (0: in one line), broken between words. indent:
 * of the lines after the first. command: a word in quotes is one word, and a broken line ends in a
 * backslash, so that a shell reads it as one.
 */
static void put_wrapped(struct buf *buf, const char *text, size_t column, size_t width,
			size_t indent, bool command)
{
	size_t mark = command ? strlen(" \\") : 0;
	bool first = true;

	while (*text) {
		size_t blanks = strspn(text, " ");
		const char *end = word_end(text + blanks, command);
		size_t columns = style_columns(text, (size_t)(end - text));
		size_t tail = *end ? mark : 0;

		if (!first && width && column + columns + tail > width) {
			buf_text(buf, command ? " \\\n" : "\n");
			buf_repeat(buf, ' ', indent);
			text += blanks;
			columns -= blanks;
			column = indent;
		}
		buf_put(buf, text, (size_t)(end - text));
		column += columns;
		text = end;
		first = false;
	}
	buf_char(buf, '\n');
}

static size_t width_of(const struct style *style)
{
	return style->full ? 0 : style->width;
}

/* Writes the text of a buffer as lines, and empties it. */
static void put_sentence(struct buf *buf, const struct style *style, struct buf *text)
{
	const char *string = buf_string(text);

	if (string && *string)
		put_wrapped(buf, string, 0, width_of(style), 0, false);
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
	put_wrapped(buf, string ? string : "", INDENT, width_of(style), INDENT, false);
	if (!finding_has_command(finding))
		return;
	text.size = 0;
	finding_command_write(&text, finding, words->tool, words->path);
	string = buf_string(&text);
	buf_repeat(buf, ' ', INDENT);
	style_begin(buf, style, STYLE_DIM);
	put_wrapped(buf, string ? string : "", INDENT, width_of(style), INDENT + 2, true);
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
	if (findings_missing(findings))
		style_printf(buf, style, STYLE_DIM, "  not looked for all: %s\n",
			     findings_missing(findings));
}
