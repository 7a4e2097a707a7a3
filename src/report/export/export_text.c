#include "report/export/export_text.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "report/text/text_report.h"
#include "report/words/style.h"

#define TITLE_COLUMNS 80

void export_title(struct buf *buf, const struct recording_facts *facts)
{
	cleanup(buf_deinit) struct buf lines = BUF_EMPTY;
	const struct style plain = {.exact = true};
	const char *text;

	text_report_title(buf, facts, TITLE_COLUMNS);
	if (facts->filtered)
		buf_text(buf, "; only allocations that a filter matches");
	text_report_reservations(&lines, &plain, facts);
	text = buf_string(&lines);
	if (!text)
		buf_append(buf, &lines); // which says that it failed
	while (text && *text) {
		size_t length = strcspn(text, "\n"), blank = strspn(text, " !");

		if (blank < length) {
			buf_text(buf, "; ");
			buf_put(buf, text + blank, length - blank);
		}
		text += length + (text[length] != 0);
	}
}

void export_text(struct buf *buf, const char *text)
{
	text = text ? text : "???";
	style_safe_text(buf, text, strlen(text));
}

void export_json_made(struct json_writer *json, const struct buf *made)
{
	if (made->failure)
		buf_append(json->buf, made);
	json_bytes(json, made->size ? made->data : "", made->size);
}

void export_json_title(struct json_writer *json, struct buf *scratch,
		       const struct recording_facts *facts)
{
	scratch->size = 0;
	export_title(scratch, facts);
	export_json_made(json, scratch);
}
