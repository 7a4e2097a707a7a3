#include "strip/strip_stream.h"

#include "base/varint.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "trace/encode_event.h"

/* Whether a record begins with its time. */
static bool has_time(uint8_t kind)
{
	return kind != TRACE_RECORD_FRAME && kind != TRACE_RECORD_PROCESS &&
	       kind != TRACE_RECORD_CULLED;
}

/* Of what was before the part only what still holds is wanted. */
static bool holds_on(const struct strip_copy *copy, const struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_MARK:
	case TRACE_RECORD_MEMORY:
	case TRACE_RECORD_FAILED:
	case TRACE_RECORD_FORK:
	case TRACE_RECORD_EXEC:
	case TRACE_RECORD_ON:
		return false;
	case TRACE_RECORD_OFF:
		return tick_clock_ns(copy->clock, event->time) == copy->off_ns;
	default:
		return true;
	}
}

static bool is_wanted(const struct strip_copy *copy, const struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_PLACE:
		return false;
	// A thread may have noted the first frame in a module before it wrote the module's record.
	case TRACE_RECORD_FRAME:
	case TRACE_RECORD_MODULE:
	case TRACE_RECORD_STACK:
	case TRACE_RECORD_CULLED:
		return true;
	case TRACE_RECORD_PROCESS:
		return copy->anonymity == ANONYMITY_NONE || anonymous_keeps(event->process.field);
	case TRACE_RECORD_END:
		return !copy->cut;
	default:
		break;
	}
	if (copy->cut && event->time > copy->until)
		return false;
	return !copy->part || event->time > copy->from || holds_on(copy, event);
}

/* Appends a text of the record as it may be shown, and a NUL if it has one. */
static void put_text(struct strip_copy *copy, const struct decode_text *text, bool path, bool ended)
{
	struct buf *buf = &copy->text;
	cleanup(buf_deinit) struct buf whole = BUF_EMPTY;

	buf_put(&whole, text->data, text->size);
	if (!buf_string(&whole))
		buf->failure = whole.failure;
	else if (path)
		buf_text(buf, file_name(whole.data));
	else
		anonymous_put(buf, whole.data);
	if (ended)
		buf_char(buf, '\0');
}

static void put_texts(struct strip_copy *copy, const struct decode_text *object,
		      const struct decode_text *name, const struct decode_text *last)
{
	put_text(copy, object, true, true);
	put_text(copy, name, false, true);
	put_text(copy, last, false, true);
}

/*
 * Makes copy->text the texts of the record without what tells where it was made. *ret: where they
 * begin in the record; NULL: it has none of that kind.
 */
static void hide(struct strip_copy *copy, const struct decode_event *event, const char **ret)
{
	copy->text.size = 0;
	switch (event->kind) {
	case TRACE_RECORD_MODULE:
		*ret = event->module.path.data;
		put_text(copy, &event->module.path, true, false);
		break;
	case TRACE_RECORD_PROCESS:
		*ret = event->process.value.data;
		put_text(copy, &event->process.value, true, false);
		break;
	case TRACE_RECORD_EXEC:
		*ret = event->text.data;
		put_text(copy, &event->text, true, false);
		break;
	case TRACE_RECORD_UNSEEN:
		*ret = event->unseen.object.data;
		put_texts(copy, &event->unseen.object, &event->unseen.name, &event->unseen.symbol);
		break;
	case TRACE_RECORD_PATCHED:
		*ret = event->patched.object.data;
		put_texts(copy, &event->patched.object, &event->patched.name, &event->patched.why);
		break;
	case TRACE_RECORD_FRAME:
		if (!(event->frame.flags & TRACE_FRAME_SCRIPT))
			break;
		*ret = event->frame.name.data;
		buf_put(&copy->text, event->frame.name.data, event->frame.name.size);
		if (buf_string(&copy->text)) {
			cleanup(buf_deinit) struct buf shown = BUF_EMPTY;

			anonymous_put_function(&shown, copy->text.data, copy->anonymity);
			copy->text.size = 0;
			buf_append(&copy->text, &shown);
		}
		break;
	default:
		break;
	}
}

/* The fields of the record behind its time, in the order of the file. */
static const uint8_t *fields_of(const struct decode_stream *decode,
				const struct decode_event *event, const uint8_t **end)
{
	const uint8_t *at = decode->payload + event->offset + 1;

	// The decoder has read both numbers already.
	while (*at++ & 0x80)
		;
	if (has_time(event->kind))
		while (*at++ & 0x80)
			;
	*end = decode->payload + decode->at;
	return at;
}

static uint64_t time_of(const struct strip_copy *copy, const struct decode_event *event)
{
	return copy->cut && event->time > copy->until ? copy->until : event->time;
}

static struct err *put_record(struct strip_copy *copy, struct record_stream *stream,
			      const struct decode_stream *decode, const struct decode_event *event)
{
	const uint8_t *end, *at = fields_of(decode, event, &end);
	uint64_t time = zigzag((int64_t)(time_of(copy, event) - stream->header.base_ticks));
	const char *text = NULL;

	if (copy->anonymity != ANONYMITY_NONE)
		hide(copy, event, &text);
	if (text) {
		cleanup(buf_deinit) struct buf whole = BUF_EMPTY;

		buf_put(&whole, at, (size_t)((const uint8_t *)text - at));
		buf_append(&whole, &copy->text);
		if (whole.failure)
			return err_no_memory();
		record_stream_fact(stream, event->kind, &time, has_time(event->kind), whole.data,
				   whole.size);
	} else {
		record_stream_fact(stream, event->kind, &time, has_time(event->kind), at,
				   (size_t)(end - at));
	}
	return NULL;
}

struct err *strip_record(struct strip_copy *copy, const struct decode_stream *decode,
			 const struct decode_event *event, bool stacked)
{
	struct record_stream *stream = &copy->stream;
	uint32_t frames = stacked ? decode->depth : 0;
	struct err *err = NULL;

	if (event->kind == TRACE_RECORD_STACK && event->stack.id > copy->stacks)
		copy->stacks = event->stack.id;
	if (!is_wanted(copy, event))
		return NULL;
	// Stack and record belong into one chunk, so they are asked for together.
	if (record_stream_is_full_for(stream, 1 + 2 * (size_t)frames,
				      decode->at - event->offset + TRACE_EVENT_MAX(0)))
		err = strip_stream_next(copy, stream->header.open_ticks,
					stream->header.open_monotonic_ns);
	if (err)
		return err;
	if (stacked)
		record_stream_stack(stream, copy->frames.items, frames);
	return put_record(copy, stream, decode, event);
}

struct err *strip_unseen(struct strip_copy *copy, const uint8_t *data, size_t size, struct buf *ret)
{
	struct decode_stream decode = {0};
	struct record_stream stream;
	struct decode_event event;
	enum decode_result result = decode_chunk(&decode, data, (uint32_t)size, 0, 0, true);
	struct err *err = NULL;

	record_stream_init(&stream, ret, 0, copy->header.allocator);
	while (!err && (result = decode_next(&decode, &event)) == DECODE_RECORD)
		if (event.kind == TRACE_RECORD_UNSEEN || event.kind == TRACE_RECORD_PATCHED)
			err = put_record(copy, &stream, &decode, &event);
	if (!err)
		buf_append(ret, &stream.payload);
	record_stream_deinit(&stream);
	return err;
}
