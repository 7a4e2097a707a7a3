#include "report/words/unseen.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/words/format.h"

#define SHOWN 4

static const char *const names[] = {
	[TRACE_UNSEEN_OWN_MALLOC] = "own_malloc",
	[TRACE_UNSEEN_LINKED] = "linked_allocator",
	[TRACE_UNSEEN_PRELOADED] = "preloaded_malloc",
	[TRACE_UNSEEN_STARTED] = "started_program",
	[TRACE_UNSEEN_RESIDENT] = "resident",
	[TRACE_UNSEEN_REFUSED] = "not_patched",
	[TRACE_UNSEEN_FREES] = "frees",
};
#define NAMES (ARRAY_COUNT(names))

/* "own_malloc"; "other": of a later version. */
static const char *unseen_kind_name(enum trace_unseen kind)
{
	return (size_t)kind < NAMES && names[kind] ? names[kind] : "other";
}

static void put_object(struct buf *buf, const struct recording_facts *facts, const char *object)
{
	const char *name = file_name(object);

	if (facts && (!*object || strcmp(object, facts->program) == 0)) {
		buf_text(buf, "the program");
		return;
	}
	style_safe_text(buf, name, strlen(name));
}

/* Writes a text of the recording between two of ours, if it has one. */
static void put_between(struct buf *buf, const char *before, const char *text, const char *behind)
{
	if (!*text)
		return;
	buf_text(buf, before);
	style_safe_text(buf, text, strlen(text));
	buf_text(buf, behind);
}

static void put_most(struct buf *buf, const struct unseen *unseen)
{
	if (unseen->bytes_at_most)
		buf_printf(buf, ", at most %s,", format_bytes(unseen->bytes_at_most, false).text);
}

void unseen_put(struct buf *buf, const struct recording_facts *facts, const struct unseen *unseen)
{
	if (unseen->kind == TRACE_UNSEEN_PRELOADED)
		put_between(buf, "'", unseen->object, "'");
	else
		put_object(buf, facts, unseen->object);
	switch (unseen->kind) {
	case TRACE_UNSEEN_OWN_MALLOC:
		buf_text(buf, " defines malloc itself");
		put_between(buf, " (", unseen->name, ")");
		buf_text(buf, ": what that serves");
		put_most(buf, unseen);
		buf_text(buf, " is not seen. In the running program 'mallow attach' sees it");
		return;
	case TRACE_UNSEEN_LINKED:
		buf_text(buf, " has an allocator of its own, ");
		put_between(buf, "", unseen->name, " (");
		if (*unseen->symbol)
			put_between(buf, "", unseen->symbol, "()");
		else
			buf_text(buf, "by its messages, for it has no symbols");
		buf_text(buf, "): what that serves");
		put_most(buf, unseen);
		if (facts && facts->hands_over) {
			buf_text(buf,
				 " is seen where the program hands calls over, and only there");
			return;
		}
		buf_text(buf, " is not seen, and all numbers are without it. Built with the "
			      "system's malloc (in Rust: without #[global_allocator]) it is");
		if (*unseen->symbol)
			buf_text(buf, "; in the running program 'mallow attach' sees it");
		return;
	case TRACE_UNSEEN_PRELOADED:
		buf_text(buf, " is preloaded, and its malloc comes before mallow's: what that "
			      "serves");
		put_most(buf, unseen);
		buf_text(buf, " is not seen. Without it in LD_PRELOAD it is");
		return;
	case TRACE_UNSEEN_STARTED:
		// The program itself is the reason; otherwise the preload ends there.
		buf_text(buf, strncmp(unseen->name, "it is ", 6) == 0 ||
					      strncmp(unseen->name, "it could ", 9) == 0
				      ? " was not recorded"
				      : " was not recorded, nor what it started");
		put_between(buf, ": ", unseen->name, "");
		return;
	case TRACE_UNSEEN_REFUSED:
		buf_text(buf, " has an allocator of its own, ");
		put_between(buf, "", unseen->name, ", ");
		buf_text(buf, "with functions that could not be patched");
		put_between(buf, " (", unseen->symbol, ")");
		buf_text(buf, facts && facts->hands_over
				      ? ": what these serve is seen where the program hands calls "
					"over, and only there"
				      : ": what these serve is not seen");
		return;
	case TRACE_UNSEEN_FREES:
		buf_text(buf, " gives blocks back by ways that are not seen");
		if (facts && facts->implicit_frees)
			buf_printf(buf, " (%s began where another one was live)",
				   format_counted(facts->implicit_frees, "block", false).text);
		buf_text(buf, ": what is live or leaked here is not to be trusted");
		return;
	case TRACE_UNSEEN_RESIDENT:
		buf_printf(buf,
			   " has %s or more resident that no recorded block or mapping "
			   "explains: ",
			   format_bytes(unseen->bytes_at_most, false).text);
		if (sight_is_sanitizers(unseen))
			put_between(buf, "", unseen->name,
				    "'s own, and blocks that it keeps after they were freed");
		else
			buf_text(buf, "what uses it is not seen");
		return;
	}
	buf_text(buf, ": not in the recording, for a newer mallow's reason");
}

/* The list. Failures are in buf, so that a line that is missing cannot pass as none. */
static const struct unseen *list_of(struct buf *buf, const struct recording_facts *facts,
				    uint32_t *count)
{
	const struct unseen *list;
	struct err *err = sight_list(facts, &list, count);

	if (err && !buf->failure)
		buf->failure = err_number(err) ? err_number(err) : ENOMEM;
	err_destroy(err);
	return list;
}

bool unseen_is_whole(struct buf *buf, const struct recording_facts *facts)
{
	uint32_t count;
	const struct unseen *list = list_of(buf, facts, &count);

	return sight_is_whole(list, count);
}

void unseen_write(struct buf *buf, const struct style *style, const struct recording_facts *facts)
{
	uint32_t count;
	const struct unseen *list = list_of(buf, facts, &count);

	for (uint32_t i = 0; i < count && i < SHOWN; i++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;
		const char *string;

		unseen_put(&text, facts, &list[i]);
		string = buf_string(&text);
		if (!string && !buf->failure)
			buf->failure = text.failure;
		style_warning(buf, style, string ? string : "");
	}
	if (count > SHOWN)
		buf_printf(buf, "  ! … %" PRIu32 " more: mallow info --json lists all\n",
			   count - SHOWN);
}

void unseen_json(struct json_writer *json, const struct recording_facts *facts)
{
	uint32_t count;
	const struct unseen *list = list_of(json->buf, facts, &count);

	for (uint32_t i = 0; i < count; i++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;

		unseen_put(&text, facts, &list[i]);
		if (!buf_string(&text) && !json->buf->failure)
			json->buf->failure = text.failure;
		json_object(json);
		json_field_text(json, "kind", unseen_kind_name(list[i].kind));
		json_field_text(json, "object", *list[i].object ? list[i].object : NULL);
		json_field_text(json, "name", *list[i].name ? list[i].name : NULL);
		json_field_text(json, "symbol", *list[i].symbol ? list[i].symbol : NULL);
		json_field_u64(json, "peak_bytes", list[i].bytes_at_most);
		json_field_text(json, "text", buf_string(&text));
		json_end(json);
	}
}

static const struct patched_object *patched_of(struct buf *buf, const struct recording_facts *facts,
					       uint32_t *count)
{
	const struct patched_object *list;
	struct err *err = sight_patched(facts, &list, count);

	if (err && !buf->failure)
		buf->failure = err_number(err) ? err_number(err) : ENOMEM;
	err_destroy(err);
	return list;
}

void patched_write(struct buf *buf, const struct style *style, const struct recording_facts *facts)
{
	uint32_t count;
	const struct patched_object *list = patched_of(buf, facts, &count);

	for (uint32_t i = 0; i < count && i < SHOWN; i++) {
		cleanup(buf_deinit) struct buf text = BUF_EMPTY;
		const char *string;

		if (!list[i].functions)
			continue;
		put_between(&text, "", list[i].name, " in ");
		put_object(&text, facts, list[i].object);
		buf_printf(&text, " is recorded, by %s patched at the entry",
			   format_counted(list[i].functions, "function", false).text);
		string = buf_string(&text);
		if (!string && !buf->failure)
			buf->failure = text.failure;
		buf_text(buf, "  ");
		style_wrap(buf, style, string ? string : "", 2, 4, false);
	}
	if (count > SHOWN)
		buf_printf(buf, "  and %" PRIu32 " more allocators: mallow info --json lists all\n",
			   count - SHOWN);
}

void patched_json(struct json_writer *json, const struct recording_facts *facts)
{
	uint32_t count;
	const struct patched_object *list = patched_of(json->buf, facts, &count);

	for (uint32_t i = 0; i < count; i++) {
		json_object(json);
		json_field_text(json, "object", list[i].object);
		json_field_text(json, "name", list[i].name);
		json_field_u64(json, "functions", list[i].functions);
		json_field_u64(json, "not_patched", list[i].refused);
		json_field_text(json, "why", *list[i].why ? list[i].why : NULL);
		json_end(json);
	}
}
