#include <string.h>

#include "analysis/load/load.h"

/* Until load_finish() every time in the recording's arrays is in ticks. */

struct err *load_stack_slow(struct load *load, struct load_stream *stream, uint64_t ticks)
{
	struct decode_stream *decode = &stream->cursor.decode;
	struct recording *recording = load->recording;
	uint32_t frame, node = RECORDING_NONE;
	struct err *err;

	if (decode->depth > stream->node_capacity &&
	    !vec_grow((void **)&stream->nodes, &stream->node_capacity, 0, decode->depth,
		      sizeof(*stream->nodes)))
		return err_no_memory();
	if (decode->kept)
		node = stream->nodes[decode->kept - 1];
	for (uint32_t i = decode->kept; i < decode->depth; i++) {
		err = frame_table_reference(&recording->tables->frames, &recording->tables->modules,
					    &decode->stack[i], ticks, &frame);
		if (!err)
			err = stack_trie_insert(&recording->tables->trie, node, frame, &node);
		if (err)
			return err;
		stream->nodes[i] = node;
		decode->kept = i + 1;
	}
	return NULL;
}

/* Reads texts, each ended by a NUL, into a list. */
static struct err *take_list(struct load *load, const struct decode_text *value,
			     const char *const **ret)
{
	const char *text = arena_copy(&load->recording->tables->arena, value->data, value->size);
	const char **list;
	size_t count = 0;

	for (uint32_t i = 0; i < value->size; i++)
		count += !value->data[i] || i + 1 == value->size;
	list = arena_array(&load->recording->tables->arena, count + 1, sizeof(*list));
	if (!text || !list)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	*ret = list;
	return NULL;
}

static struct err *take_process(struct load *load, const struct decode_event *event)
{
	struct recording_facts *facts = &load->recording->facts;
	const struct decode_text *value = &event->process.value;
	const char **field;

	switch (event->process.field) {
	case TRACE_PROCESS_EXECUTABLE:
		field = &facts->program;
		break;
	case TRACE_PROCESS_ARGUMENTS:
		return take_list(load, value, &facts->arguments);
	case TRACE_PROCESS_ENVIRONMENT:
		return take_list(load, value, &facts->environment);
	case TRACE_PROCESS_DIRECTORY:
		field = &facts->directory;
		break;
	case TRACE_PROCESS_HOST:
		field = &facts->host;
		break;
	case TRACE_PROCESS_KERNEL:
		field = &facts->kernel;
		break;
	case TRACE_PROCESS_AGENT:
		field = &facts->agent_version;
		break;
	default:
		return NULL;
	}

	const char *text = arena_copy(&load->recording->tables->arena, value->data, value->size);

	if (!text)
		return err_no_memory();
	*field = text;
	return NULL;
}

/*
 * Takes a thread record: what is decoded next belongs to a new thread, unless this is the stream's
 * first such record.
 */
static struct err *begin_thread(struct load *load, uint32_t index)
{
	struct load_stream *stream = &load->streams[index];
	const struct load_culled *culled = &load->culled;

	if (!stream->introduced) {
		stream->introduced = true;
		return NULL;
	}
	stream->tag = 0;
	if (stream->next_start < culled->starts.count &&
	    culled->starts.items[stream->next_start].stream == index) {
		stream->thread = culled->starts.items[stream->next_start++].thread;
		return NULL;
	}
	return load_thread_add(load, stream->number, &stream->thread);
}

static struct err *take_name(struct load *load, uint32_t index, const struct decode_event *event)
{
	struct recorded_thread *thread = &load->recording->tables->threads.items[index];
	const char *name = arena_copy(&load->recording->tables->arena, event->thread.name.data,
				      event->thread.name.size);

	if (!name)
		return err_no_memory();
	thread->name = name;
	if (event->kind == TRACE_RECORD_THREAD)
		thread->tid = (uint32_t)event->thread.tid;
	return NULL;
}

/* Counts an event that is no operation on a block. */
static void count_event(struct load *load, uint32_t stream)
{
	load->recording->facts.events++;
	load->recording->tables->threads.items[load->streams[stream].thread].events++;
}

static struct err *take_mapping(struct load *load, uint32_t stream,
				const struct decode_event *event)
{
	struct mapping_operation mapping = {
		.time_ns = event->time,
		.kind = event->kind,
		.thread = load->streams[stream].thread,
		.requested = event->mapping.requested,
		.address = event->mapping.address,
		.length = event->mapping.length,
		.old_address = event->mapping.old_address,
		.old_length = event->mapping.old_length,
		.offset = event->mapping.offset,
		.protection = (uint32_t)event->mapping.protection,
		.flags = (uint32_t)event->mapping.flags,
		.fd = (int32_t)event->mapping.fd,
		.increment = event->mapping.increment,
	};
	struct err *err;

	mapping_complete(&mapping);
	err = load_stack(load, &load->streams[stream], event->time, &mapping.stack);
	if (err)
		return err;
	count_event(load, stream);
	return vec_push(&load->recording->tables->mappings, mapping) ? NULL : err_no_memory();
}

static struct err *take_mallopt(struct load *load, uint32_t stream,
				const struct decode_event *event)
{
	struct mallopt_operation mallopt = {
		.time_ns = event->time,
		.thread = load->streams[stream].thread,
		.parameter = (int32_t)event->mallopt.parameter,
		.value = (int32_t)event->mallopt.value,
		.result = (int32_t)event->mallopt.result,
	};
	struct err *err;

	err = load_stack(load, &load->streams[stream], event->time, &mallopt.stack);
	if (err)
		return err;
	count_event(load, stream);
	return vec_push(&load->recording->tables->mallopts, mallopt) ? NULL : err_no_memory();
}

static struct err *take_mark(struct load *load, uint32_t stream, const struct decode_event *event)
{
	struct recorded_mark mark = {
		.time_ns = event->time,
		.stream = (uint32_t)load->streams[stream].number,
	};

	mark.name = arena_copy(&load->recording->tables->arena, event->text.data, event->text.size);
	count_event(load, stream);
	return mark.name && vec_push(&load->recording->tables->marks, mark) ? NULL
									    : err_no_memory();
}

static struct err *take_switch(struct load *load, const struct decode_event *event)
{
	struct recorded_switch switched = {
		.time_ns = event->time,
		.on = event->kind == TRACE_RECORD_ON,
	};

	return vec_push(&load->recording->tables->switches, switched) ? NULL : err_no_memory();
}

static struct err *take_memory(struct load *load, const struct decode_event *event)
{
	struct memory_sample sample = {
		.time_ns = event->time,
		.virtual_size = event->memory.virtual_size,
		.resident = event->memory.resident,
		.anonymous = event->memory.anonymous,
		.file = event->memory.file,
		.shared = event->memory.shared,
		.swap = event->memory.swap,
	};

	return vec_push(&load->recording->tables->memory, sample) ? NULL : err_no_memory();
}

static struct err *take_unseen(struct load *load, const struct decode_event *event)
{
	return load->recording->tables->unseen_stored ? NULL : sight_take(load->recording, event);
}

static void take_end(struct load *load, const struct decode_event *event)
{
	load->end_ticks = event->time;
	load->end_monotonic_ns = event->end.monotonic_ns;
	// How the program ended, and whether that is the recording's end, the header says.
	load->end_watched |= event->end.watched != 0;
	if (event->end.watched)
		return;
	load->end_seen = true;
	load->end_reason = (enum trace_end)event->end.reason;
	load->end_status = (uint32_t)event->end.status;
	load_note_end(load);
}

struct err *load_record(struct load *load, uint32_t stream, const struct decode_event *event)
{
	struct recording *recording = load->recording;
	struct err *err;

	switch (event->kind) {
	case TRACE_RECORD_THREAD:
		err = begin_thread(load, stream);
		if (err)
			return err;
		break;
	case TRACE_RECORD_FRAME:
		return frame_table_define(&recording->tables->frames, &recording->tables->arena,
					  event);
	case TRACE_RECORD_PROCESS:
		return take_process(load, event);
	case TRACE_OP_STACK:
	case TRACE_OP_TIME:
	case TRACE_OP_RESYNC:
	// load_culled.c has read these.
	case TRACE_RECORD_SURVIVOR:
	case TRACE_RECORD_CULLED:
		return NULL;
	default:
		break;
	}
	load_note_time(load, load->streams[stream].thread, event->time);
	switch (event->kind) {
	case TRACE_RECORD_MODULE:
		return module_table_add(&recording->tables->modules, &recording->tables->arena,
					event);
	case TRACE_RECORD_MODULE_GONE:
		return module_table_gone(&recording->tables->modules, event);
	case TRACE_RECORD_THREAD:
	case TRACE_RECORD_THREAD_NAME:
		return take_name(load, load->streams[stream].thread, event);
	case TRACE_RECORD_MMAP:
	case TRACE_RECORD_MUNMAP:
	case TRACE_RECORD_MREMAP:
	case TRACE_RECORD_BRK:
		return take_mapping(load, stream, event);
	case TRACE_RECORD_MALLOPT:
		return take_mallopt(load, stream, event);
	case TRACE_RECORD_MARK:
		return take_mark(load, stream, event);
	case TRACE_RECORD_OFF:
	case TRACE_RECORD_ON:
		return take_switch(load, event);
	case TRACE_RECORD_TAG:
		load->streams[stream].tag = (uint32_t)event->tag;
		return NULL;
	case TRACE_RECORD_MEMORY:
		return take_memory(load, event);
	case TRACE_RECORD_UNSEEN:
	case TRACE_RECORD_PATCHED:
		return take_unseen(load, event);
	case TRACE_RECORD_SUM:
		return load_aggregate_take(load, event);
	case TRACE_RECORD_END:
		take_end(load, event);
		return NULL;
	case TRACE_RECORD_FAILED:
		recording->facts.failed_allocations++;
		return NULL;
	default:
		return NULL;
	}
}
