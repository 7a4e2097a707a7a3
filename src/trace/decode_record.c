#include "trace/decode_record.h"

static struct decode_text take_text(struct cursor *body)
{
	struct decode_text text = {.data = (const char *)body->at};

	text.size = (uint32_t)cursor_left(body);
	body->at = body->end;
	return text;
}

static void take_module(struct cursor *body, struct decode_event *event)
{
	event->module.id = cursor_varint(body);
	event->module.generation = cursor_varint(body);
	event->module.bias = cursor_varint(body);
	event->module.start = cursor_varint(body);
	event->module.end = cursor_varint(body);

	uint64_t size = cursor_varint(body);

	event->module.build_id = cursor_bytes(body, size);
	event->module.build_id_size = body->failed ? 0 : (uint32_t)size;
	event->module.path = take_text(body);
}

static void take_mapping(struct cursor *body, struct decode_event *event)
{
	__builtin_memset(&event->mapping, 0, sizeof(event->mapping));
	switch (event->kind) {
	case TRACE_RECORD_MMAP:
		event->mapping.requested = cursor_varint(body);
		event->mapping.address = cursor_varint(body);
		event->mapping.length = cursor_varint(body);
		event->mapping.protection = cursor_varint(body);
		event->mapping.flags = cursor_varint(body);
		event->mapping.fd = cursor_signed(body);
		event->mapping.offset = cursor_varint(body);
		break;
	case TRACE_RECORD_MUNMAP:
		event->mapping.address = cursor_varint(body);
		event->mapping.length = cursor_varint(body);
		break;
	case TRACE_RECORD_MREMAP:
		event->mapping.old_address = cursor_varint(body);
		event->mapping.old_length = cursor_varint(body);
		event->mapping.address = cursor_varint(body);
		event->mapping.length = cursor_varint(body);
		event->mapping.flags = cursor_varint(body);
		break;
	default:
		event->mapping.increment = cursor_signed(body);
		event->mapping.address = cursor_varint(body);
	}
}

/* Takes a text up to its NUL, or to the end if there is none. */
static struct decode_text take_ended_text(struct cursor *body)
{
	struct decode_text text = {.data = (const char *)body->at};

	while (cursor_left(body) && *body->at++)
		text.size++;
	return text;
}

static void take_unseen(struct cursor *body, struct decode_event *event)
{
	event->unseen.kind = cursor_varint(body);
	event->unseen.bytes = cursor_varint(body);
	event->unseen.object = take_ended_text(body);
	event->unseen.name = take_ended_text(body);
	event->unseen.symbol = take_ended_text(body);
}

static void take_patched(struct cursor *body, struct decode_event *event)
{
	event->patched.functions = cursor_varint(body);
	event->patched.refused = cursor_varint(body);
	event->patched.object = take_ended_text(body);
	event->patched.name = take_ended_text(body);
	event->patched.why = take_ended_text(body);
}

static void take_sum(struct cursor *body, struct decode_event *event)
{
	event->sum.stack = cursor_varint(body);
	event->sum.known = cursor_varint(body);
	// Those of a later version stand behind.
	for (unsigned int i = 0; i < TRACE_SUMS; i++)
		event->sum.values[i] = event->sum.known >> i & 1 ? cursor_varint(body) : 0;
}

static void take_memory(struct cursor *body, struct decode_event *event)
{
	event->memory.virtual_size = cursor_varint(body);
	event->memory.resident = cursor_varint(body);
	event->memory.anonymous = cursor_varint(body);
	event->memory.file = cursor_varint(body);
	event->memory.shared = cursor_varint(body);
	event->memory.swap = cursor_varint(body);
}

/* Addresses of blocks are stored relative to their pool, because they seldom lie far from it. */
static void take_pool(struct cursor *body, struct decode_event *event)
{
	__builtin_memset(&event->pool, 0, sizeof(event->pool));
	event->pool.start = event->time;
	event->pool.pool = cursor_varint(body);
	if (event->kind == TRACE_RECORD_POOL_NAME)
		event->pool.name = take_text(body);
	if (event->kind > TRACE_RECORD_POOL_FREE)
		return;
	event->pool.address = event->pool.pool + (uint64_t)cursor_signed(body);
	if (event->kind == TRACE_RECORD_POOL_ALLOC)
		event->pool.size = cursor_varint(body);
}

static void take_survivor(struct cursor *body, struct decode_event *event)
{
	uint64_t operation;

	event->survivor.stack = cursor_varint(body);
	event->survivor.stream = cursor_varint(body);
	event->survivor.tag = cursor_varint(body);
	operation = cursor_varint(body);
	event->survivor.address = cursor_varint(body);
	event->survivor.size = cursor_varint(body);
	event->survivor.alignment = cursor_varint(body);
	event->survivor.slack = cursor_varint(body);
	event->survivor.operation = operation & TRACE_OP_MASK;
	event->heap_flags = operation >> TRACE_SURVIVOR_FLAGS_SHIFT & 3;
	if (!event->survivor.operation || event->survivor.operation > TRACE_OP_REALLOCARRAY)
		cursor_fail(body);
	event->survivor.old_address = event->survivor.duration = 0;
	if (event->survivor.operation <= TRACE_OP_LAST_ALLOCATION)
		return;
	event->survivor.old_address = cursor_varint(body);
	event->survivor.duration = cursor_varint(body);
}

bool decode_stack_frame(struct decode_text *frames, struct decode_frame *ret)
{
	struct cursor cursor = cursor_make(frames->data, frames->size);

	if (!frames->size)
		return false;
	ret->id = cursor_varint(&cursor);
	ret->pc = ret->id ? 0 : cursor_varint(&cursor);
	frames->data = (const char *)cursor.at;
	frames->size = (uint32_t)cursor_left(&cursor);
	return !cursor.failed;
}

static bool are_frames(struct decode_text frames)
{
	struct decode_frame frame;

	while (frames.size)
		if (!decode_stack_frame(&frames, &frame))
			return false;
	return true;
}

/* The records that begin with a time. The time has been read. */
static bool take_timed(struct cursor *body, struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_MODULE:
		take_module(body, event);
		return true;
	case TRACE_RECORD_MODULE_GONE:
		event->module.id = cursor_varint(body);
		return true;
	case TRACE_RECORD_THREAD:
		event->thread.tid = cursor_varint(body);
		event->thread.name = take_text(body);
		return true;
	case TRACE_RECORD_THREAD_NAME:
		event->thread.name = take_text(body);
		return true;
	case TRACE_RECORD_THREAD_END:
		return true;
	case TRACE_RECORD_MMAP:
	case TRACE_RECORD_MUNMAP:
	case TRACE_RECORD_MREMAP:
	case TRACE_RECORD_BRK:
		take_mapping(body, event);
		return true;
	case TRACE_RECORD_MALLOPT:
		event->mallopt.parameter = cursor_signed(body);
		event->mallopt.value = cursor_signed(body);
		event->mallopt.result = cursor_signed(body);
		return true;
	case TRACE_RECORD_MARK:
	case TRACE_RECORD_EXEC:
		event->text = take_text(body);
		return true;
	case TRACE_RECORD_MEMORY:
		take_memory(body, event);
		return true;
	case TRACE_RECORD_FORK:
		event->fork.pid = cursor_varint(body);
		return true;
	case TRACE_RECORD_END:
		event->end.monotonic_ns = cursor_varint(body);
		event->end.reason = cursor_varint(body);
		event->end.status = cursor_varint(body);
		event->end.watched = cursor_left(body) ? cursor_varint(body) : 0;
		return true;
	case TRACE_RECORD_OFF:
	case TRACE_RECORD_ON:
		return true;
	case TRACE_RECORD_TAG:
		event->tag = cursor_varint(body);
		return true;
	case TRACE_RECORD_POOL_ALLOC:
	case TRACE_RECORD_POOL_FREE:
	case TRACE_RECORD_POOL_RESET:
	case TRACE_RECORD_POOL_NAME:
		take_pool(body, event);
		return true;
	case TRACE_RECORD_UNSEEN:
		take_unseen(body, event);
		return true;
	case TRACE_RECORD_PATCHED:
		take_patched(body, event);
		return true;
	case TRACE_RECORD_SUM:
		take_sum(body, event);
		return true;
	case TRACE_RECORD_STACK:
		event->stack.id = cursor_varint(body);
		event->stack.outer = cursor_varint(body);
		event->stack.frames = take_text(body);
		if (!are_frames(event->stack.frames))
			cursor_fail(body);
		return true;
	case TRACE_RECORD_SURVIVOR:
		take_survivor(body, event);
		return true;
	case TRACE_RECORD_FAILED:
		event->failed.operation = cursor_varint(body);
		event->failed.size = cursor_varint(body);
		return true;
	default:
		return false;
	}
}

bool decode_record(struct cursor *body, uint64_t base, struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_FRAME:
		event->frame.id = cursor_varint(body);
		event->frame.pc = cursor_varint(body);
		event->frame.module = cursor_varint(body);
		event->frame.flags = cursor_left(body) ? cursor_varint(body) : 0;
		event->frame.line = 0;
		event->frame.name = (struct decode_text){0};
		if (event->frame.flags & TRACE_FRAME_SCRIPT) {
			event->frame.line = cursor_varint(body);
			event->frame.name = take_text(body);
		}
		return true;
	case TRACE_RECORD_PROCESS:
		event->process.field = cursor_varint(body);
		event->process.value = take_text(body);
		return true;
	case TRACE_RECORD_CULLED:
		event->culled.stack = cursor_varint(body);
		event->culled.calls = cursor_varint(body);
		event->culled.bytes = cursor_varint(body);
		event->culled.temporary = cursor_varint(body);
		return true;
	case TRACE_RECORD_PLACE:
		event->place.offset = cursor_varint(body);
		event->place.address = cursor_varint(body);
		event->place.id = cursor_bytes(body, TRACE_PLACE_ID);
		return true;
	default:
		break;
	}
	if ((event->kind < TRACE_RECORD_FRAME || event->kind > TRACE_RECORD_SUM) &&
	    event->kind != TRACE_RECORD_STACK && event->kind != TRACE_RECORD_SURVIVOR)
		return false;
	// Unknown kinds have returned above: their bodies need not begin with a time.
	event->time = base + (uint64_t)cursor_signed(body);
	return take_timed(body, event);
}
