#include "report/export/dump_event.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "report/words/style.h"
#include "trace/operation.h"

static const char *const process_fields[] = {
	[TRACE_PROCESS_EXECUTABLE] = "executable",
	[TRACE_PROCESS_ARGUMENTS] = "arguments",
	[TRACE_PROCESS_DIRECTORY] = "directory",
	[TRACE_PROCESS_ENVIRONMENT] = "environment",
	[TRACE_PROCESS_HOST] = "host",
	[TRACE_PROCESS_KERNEL] = "kernel",
	[TRACE_PROCESS_AGENT] = "agent",
};

/* Writes a text. NULs, which separate the parts of lists, become spaces. */
static void put_text(struct buf *buf, const char *key, const struct decode_text *text)
{
	const char *data = text->data;
	uint32_t left = text->size;

	buf_printf(buf, " %s=\"", key);
	while (left) {
		uint32_t part = 0;

		while (part < left && data[part])
			part++;
		style_safe_text(buf, data, part);
		if (part < left)
			part++;
		data += part;
		left -= part;
		if (left)
			buf_char(buf, ' ');
	}
	buf_char(buf, '"');
}

static void put_u64(struct buf *buf, const char *key, uint64_t value)
{
	buf_printf(buf, " %s=%" PRIu64, key, value);
}

static void put_hex(struct buf *buf, const char *key, uint64_t value)
{
	buf_printf(buf, " %s=0x%" PRIx64, key, value);
}

static void put_heap_flags(struct buf *buf, uint8_t flags)
{
	if (flags)
		buf_printf(buf, " flags=%s%s%s", flags & TRACE_HEAP_MMAPPED ? "mmapped" : "",
			   flags == (TRACE_HEAP_MMAPPED | TRACE_HEAP_NON_MAIN_ARENA) ? "," : "",
			   flags & TRACE_HEAP_NON_MAIN_ARENA ? "non-main-arena" : "");
}

static void put_block(struct buf *buf, const struct decode_event *event)
{
	buf_printf(buf, "%s 0x%" PRIx64, operation_name(event->kind), event->block.address);
	if (event->kind >= TRACE_OP_FREE)
		return;
	if (event->kind >= TRACE_OP_REALLOC)
		put_hex(buf, "old", event->block.old_address);
	put_u64(buf, "size", event->block.size);
	put_u64(buf, "usable", event->block.usable);
	if (event->block.alignment)
		put_u64(buf, "alignment", event->block.alignment);
	put_heap_flags(buf, event->heap_flags);
}

static void put_module(struct buf *buf, const struct decode_event *event)
{
	buf_text(buf, "module");
	put_u64(buf, "id", event->module.id);
	put_u64(buf, "generation", event->module.generation);
	put_hex(buf, "start", event->module.start);
	put_hex(buf, "end", event->module.end);
	put_hex(buf, "bias", event->module.bias);
	buf_text(buf, " build_id=");
	buf_hex_bytes(buf, event->module.build_id, event->module.build_id_size);
	put_text(buf, "path", &event->module.path);
}

static void put_mapping(struct buf *buf, const struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_MMAP:
		buf_printf(buf, "mmap 0x%" PRIx64, event->mapping.address);
		put_hex(buf, "requested", event->mapping.requested);
		put_u64(buf, "length", event->mapping.length);
		put_hex(buf, "protection", event->mapping.protection);
		put_hex(buf, "flags", event->mapping.flags);
		buf_printf(buf, " fd=%" PRId64, event->mapping.fd);
		put_u64(buf, "offset", event->mapping.offset);
		break;
	case TRACE_RECORD_MUNMAP:
		buf_printf(buf, "munmap 0x%" PRIx64, event->mapping.address);
		put_u64(buf, "length", event->mapping.length);
		break;
	case TRACE_RECORD_MREMAP:
		buf_printf(buf, "mremap 0x%" PRIx64, event->mapping.address);
		put_u64(buf, "length", event->mapping.length);
		put_hex(buf, "old", event->mapping.old_address);
		put_u64(buf, "old_length", event->mapping.old_length);
		put_hex(buf, "flags", event->mapping.flags);
		break;
	default:
		buf_printf(buf, "brk 0x%" PRIx64, event->mapping.address);
		buf_printf(buf, " increment=%" PRId64, event->mapping.increment);
	}
}

static void put_memory(struct buf *buf, const struct decode_event *event)
{
	buf_text(buf, "memory");
	put_u64(buf, "virtual", event->memory.virtual_size);
	put_u64(buf, "resident", event->memory.resident);
	put_u64(buf, "anonymous", event->memory.anonymous);
	put_u64(buf, "file", event->memory.file);
	put_u64(buf, "shared", event->memory.shared);
	put_u64(buf, "swap", event->memory.swap);
}

static void put_process(struct buf *buf, const struct decode_event *event)
{
	uint64_t field = event->process.field;

	buf_printf(buf, "process field=%" PRIu64, field);
	put_text(buf,
		 field < ARRAY_COUNT(process_fields) && process_fields[field]
			 ? process_fields[field]
			 : "value",
		 &event->process.value);
}

static void put_pool(struct buf *buf, const struct decode_event *event)
{
	static const char *const names[] = {"pool-alloc", "pool-free", "pool-reset", "pool-name"};

	buf_text(buf, names[event->kind - TRACE_RECORD_POOL_ALLOC]);
	if (event->kind <= TRACE_RECORD_POOL_FREE)
		buf_printf(buf, " 0x%" PRIx64, event->pool.address);
	put_hex(buf, "pool", event->pool.pool);
	if (event->kind == TRACE_RECORD_POOL_ALLOC)
		put_u64(buf, "size", event->pool.size);
	if (event->kind == TRACE_RECORD_POOL_NAME)
		put_text(buf, "name", &event->pool.name);
}

/* Writes what an aggregate has of a stack: only what is known. */
static void put_sum(struct buf *buf, const struct decode_event *event)
{
	static const char *const names[TRACE_SUMS] = {
		[TRACE_SUM_CALLS] = "calls",
		[TRACE_SUM_BYTES] = "bytes",
		[TRACE_SUM_LIVE_BLOCKS] = "live_blocks",
		[TRACE_SUM_LIVE_BYTES] = "live_bytes",
		[TRACE_SUM_PEAK_BLOCKS] = "peak_blocks",
		[TRACE_SUM_PEAK_BYTES] = "peak_bytes",
		[TRACE_SUM_OWN_PEAK_BYTES] = "own_peak_bytes",
		[TRACE_SUM_TEMPORARY] = "temporary",
	};

	buf_text(buf, "sum");
	put_u64(buf, "stack", event->sum.stack);
	for (unsigned int i = 0; i < TRACE_SUMS; i++)
		if (event->sum.known >> i & 1)
			put_u64(buf, names[i], event->sum.values[i]);
}

/* Writes records of CULL. Stacks are named by their ids in the file. */
static void put_culled(struct buf *buf, const struct decode_event *event)
{
	struct decode_text frames = event->stack.frames;
	struct decode_frame frame;

	switch (event->kind) {
	case TRACE_RECORD_STACK:
		buf_text(buf, "stack-definition");
		put_u64(buf, "id", event->stack.id);
		put_u64(buf, "outer", event->stack.outer);
		buf_text(buf, " frames=");
		for (const char *between = ""; decode_stack_frame(&frames, &frame); between = ",")
			if (frame.id)
				buf_printf(buf, "%s%" PRIu64, between, frame.id);
			else
				buf_printf(buf, "%s0x%" PRIx64, between, frame.pc);
		break;
	case TRACE_RECORD_SURVIVOR:
		buf_printf(buf, "survivor %s 0x%" PRIx64, operation_name(event->survivor.operation),
			   event->survivor.address);
		put_u64(buf, "size", event->survivor.size);
		put_u64(buf, "usable", event->survivor.size + event->survivor.slack);
		if (event->survivor.alignment)
			put_u64(buf, "alignment", event->survivor.alignment);
		put_heap_flags(buf, event->heap_flags);
		if (event->survivor.operation > TRACE_OP_LAST_ALLOCATION)
			buf_printf(buf, " old=0x%" PRIx64 " duration=%" PRIu64,
				   event->survivor.old_address, event->survivor.duration);
		put_u64(buf, "stream", event->survivor.stream);
		put_u64(buf, "tag", event->survivor.tag);
		put_u64(buf, "stack-id", event->survivor.stack);
		break;
	default:
		buf_text(buf, "culled");
		put_u64(buf, "calls", event->culled.calls);
		put_u64(buf, "bytes", event->culled.bytes);
		put_u64(buf, "temporary", event->culled.temporary);
		put_u64(buf, "stack-id", event->culled.stack);
	}
}

/* Writes records about threads and the life of the process. */
static void put_life(struct buf *buf, const struct decode_event *event)
{
	switch (event->kind) {
	case TRACE_RECORD_MODULE_GONE:
		buf_text(buf, "module-gone");
		put_u64(buf, "id", event->module.id);
		break;
	case TRACE_RECORD_THREAD:
		buf_text(buf, "thread");
		put_u64(buf, "tid", event->thread.tid);
		put_text(buf, "name", &event->thread.name);
		break;
	case TRACE_RECORD_THREAD_NAME:
		buf_text(buf, "thread-name");
		put_text(buf, "name", &event->thread.name);
		break;
	case TRACE_RECORD_THREAD_END:
		buf_text(buf, "thread-end");
		break;
	case TRACE_RECORD_MARK:
		buf_text(buf, "mark");
		put_text(buf, "name", &event->text);
		break;
	case TRACE_RECORD_FORK:
		buf_text(buf, "fork");
		put_u64(buf, "pid", event->fork.pid);
		break;
	case TRACE_RECORD_EXEC:
		buf_text(buf, "exec");
		put_text(buf, "path", &event->text);
		break;
	case TRACE_RECORD_OFF:
		buf_text(buf, "off");
		break;
	case TRACE_RECORD_ON:
		buf_text(buf, "on");
		break;
	case TRACE_RECORD_TAG:
		buf_text(buf, "tag");
		put_u64(buf, "value", event->tag);
		break;
	case TRACE_RECORD_UNSEEN:
		buf_text(buf, "unseen");
		put_u64(buf, "kind", event->unseen.kind);
		put_u64(buf, "bytes", event->unseen.bytes);
		put_text(buf, "object", &event->unseen.object);
		put_text(buf, "name", &event->unseen.name);
		put_text(buf, "symbol", &event->unseen.symbol);
		break;
	case TRACE_RECORD_END:
		buf_text(buf, "end");
		put_u64(buf, "reason", event->end.reason);
		put_u64(buf, "status", event->end.status);
		if (event->end.watched)
			put_u64(buf, "watched", event->end.watched);
		break;
	default:
		buf_printf(buf, "record-0x%02x", event->kind);
	}
}

void dump_event_put(struct buf *buf, const struct decode_event *event)
{
	const char *name = operation_name(event->kind);

	switch (event->kind) {
	case TRACE_OP_STACK:
	case TRACE_OP_TIME:
	case TRACE_OP_RESYNC:
		buf_text(buf, name);
		break;
	case TRACE_RECORD_FRAME:
		buf_text(buf, "frame");
		put_u64(buf, "id", event->frame.id);
		put_hex(buf, "pc", event->frame.pc);
		put_u64(buf, "module", event->frame.module);
		if (event->frame.flags & TRACE_FRAME_GUESS)
			buf_text(buf, " caller=guessed");
		if (event->frame.flags & TRACE_FRAME_SCRIPT) {
			put_u64(buf, "line", event->frame.line);
			put_text(buf, "name", &event->frame.name);
		}
		break;
	case TRACE_RECORD_MODULE:
		put_module(buf, event);
		break;
	case TRACE_RECORD_PROCESS:
		put_process(buf, event);
		break;
	case TRACE_RECORD_PLACE:
		buf_text(buf, "place");
		put_u64(buf, "offset", event->place.offset);
		put_hex(buf, "address", event->place.address);
		break;
	case TRACE_RECORD_MMAP ... TRACE_RECORD_BRK:
		put_mapping(buf, event);
		break;
	case TRACE_RECORD_MALLOPT:
		buf_printf(buf, "mallopt parameter=%" PRId64 " value=%" PRId64 " result=%" PRId64,
			   event->mallopt.parameter, event->mallopt.value, event->mallopt.result);
		break;
	case TRACE_RECORD_POOL_ALLOC ... TRACE_RECORD_POOL_NAME:
		put_pool(buf, event);
		break;
	case TRACE_RECORD_MEMORY:
		put_memory(buf, event);
		break;
	case TRACE_RECORD_SUM:
		put_sum(buf, event);
		break;
	case TRACE_RECORD_STACK:
	case TRACE_RECORD_SURVIVOR:
	case TRACE_RECORD_CULLED:
		put_culled(buf, event);
		break;
	case TRACE_RECORD_FAILED:
		name = operation_name(event->failed.operation);
		buf_printf(buf, "failed %s", name ? name : "unknown");
		put_u64(buf, "size", event->failed.size);
		break;
	default:
		if (name)
			put_block(buf, event);
		else
			put_life(buf, event);
	}
}

bool dump_event_has_stack(const struct decode_event *event, bool free_stacks)
{
	return event->kind < TRACE_OP_FREE ||
	       (free_stacks && event->kind <= TRACE_OP_DELETE_ARRAY) ||
	       event->kind == TRACE_OP_STACK ||
	       (event->kind >= TRACE_RECORD_MMAP && event->kind <= TRACE_RECORD_MALLOPT) ||
	       event->kind == TRACE_RECORD_FAILED || event->kind == TRACE_RECORD_POOL_ALLOC ||
	       (free_stacks &&
		(event->kind == TRACE_RECORD_POOL_FREE || event->kind == TRACE_RECORD_POOL_RESET));
}
