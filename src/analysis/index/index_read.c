#include "analysis/index/index_read.h"

#include "analysis/recording_data.h"
#include "trace/cursor.h"
#include "trace/decode.h"

/*
 * Failure is sticky: after the first one nothing more is read. Wrong content makes the cursor fail;
 * no_memory is separate, because it is no fault of the file.
 */
struct index_reader {
	struct recording *recording;
	struct cursor cursor;
	bool no_memory;
};

static uint64_t take(struct index_reader *reader)
{
	return cursor_varint(&reader->cursor);
}

static void expect(struct index_reader *reader, bool holds)
{
	if (!holds)
		cursor_fail(&reader->cursor);
}

static void out_of_memory(struct index_reader *reader)
{
	reader->no_memory = true;
	cursor_fail(&reader->cursor);
}

static uint64_t take_at_most(struct index_reader *reader, uint64_t most)
{
	uint64_t value = take(reader);

	expect(reader, value <= most);
	return value <= most ? value : 0;
}

static uint32_t take_u32(struct index_reader *reader)
{
	return (uint32_t)take_at_most(reader, UINT32_MAX);
}

/* Reads an index below count. */
static uint32_t take_index(struct index_reader *reader, size_t count)
{
	uint64_t value = take(reader);

	expect(reader, value < count);
	return value < count ? (uint32_t)value : 0;
}

/* Reads an index below count plus 1, or 0 for none. */
static uint32_t take_index_or_none(struct index_reader *reader, size_t count)
{
	return (uint32_t)take_at_most(reader, count) - 1;
}

static int64_t take_signed_within(struct index_reader *reader, int64_t lowest, int64_t highest)
{
	int64_t value = cursor_signed(&reader->cursor);

	expect(reader, value >= lowest && value <= highest);
	return value;
}

static int32_t take_i32(struct index_reader *reader)
{
	return (int32_t)take_signed_within(reader, INT32_MIN, INT32_MAX);
}

static uint64_t take_step(struct index_reader *reader, uint64_t *before)
{
	*before += (uint64_t)cursor_signed(&reader->cursor);
	return *before;
}

/* Reads a length and so many bytes. Returns a copy with a NUL at its end. */
static const char *take_bytes(struct index_reader *reader, uint32_t *size)
{
	uint32_t wanted = take_u32(reader);
	const uint8_t *bytes = cursor_bytes(&reader->cursor, wanted);
	const char *copy = "";

	*size = 0;
	if (reader->cursor.failed)
		return copy;
	copy = arena_copy(&reader->recording->tables->arena, bytes, wanted);
	if (!copy) {
		out_of_memory(reader);
		return "";
	}
	*size = wanted;
	return copy;
}

static const char *take_text(struct index_reader *reader)
{
	uint32_t size;

	return take_bytes(reader, &size);
}

/* Reads a count of things, each of which takes at least so many bytes. */
static uint32_t take_count(struct index_reader *reader, size_t least)
{
	uint64_t count = take(reader);

	expect(reader, count < RECORDING_NONE && count <= cursor_left(&reader->cursor) / least);
	return reader->cursor.failed ? 0 : (uint32_t)count;
}

/* The same for an array that is still empty, and makes room in it. 0 if there is no memory. */
#define take_count_for(reader, vec, least)                                                         \
	__extension__({                                                                            \
		uint32_t count_ = take_count((reader), (least));                                   \
		if (!vec_reserve((vec), count_)) {                                                 \
			out_of_memory(reader);                                                     \
			count_ = 0;                                                                \
		}                                                                                  \
		(vec)->count = count_;                                                             \
		count_;                                                                            \
	})

static const char *const *take_list(struct index_reader *reader)
{
	uint32_t count = take_count(reader, 1);
	const char **list =
		arena_array(&reader->recording->tables->arena, (size_t)count + 1, sizeof(*list));

	if (!list) {
		out_of_memory(reader);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		list[i] = take_text(reader);
	return list;
}

static void take_facts(struct index_reader *reader, unsigned int version, bool *complete)
{
	struct recording_facts *facts = &reader->recording->facts;
	const char *const *environment = NULL;
	uint64_t flags;

	facts->program = take_text(reader);
	facts->directory = take_text(reader);
	facts->host = take_text(reader);
	facts->kernel = take_text(reader);
	facts->agent_version = take_text(reader);
	facts->arguments = take_list(reader);
	if (version > INDEX_VERSION_FIRST)
		environment = take_list(reader);
	flags = take(reader);
	facts->environment = flags & INDEX_ENVIRONMENT ? environment : NULL;
	facts->ended = flags & INDEX_ENDED;
	*complete = flags & INDEX_COMPLETE;
	facts->end_reason = (enum trace_end)take_u32(reader);
	facts->end_status = take_u32(reader);
	facts->duration_ns = take(reader);
	facts->events = take(reader);
	facts->allocations = take(reader);
	facts->frees = take(reader);
	facts->reallocs = take(reader);
	facts->failed_allocations = take(reader);
	facts->unknown_frees = take(reader);
	facts->implicit_frees = take(reader);
	if (version > INDEX_VERSION_FIRST) {
		facts->off_periods = take(reader);
		facts->off_ns = take(reader);
	}
	if (version > INDEX_VERSION_SECOND) {
		facts->culled_allocations = take(reader);
		facts->culled_bytes = take(reader);
	}
}

static void take_modules(struct index_reader *reader)
{
	struct module_table *table = &reader->recording->tables->modules;
	uint32_t count = take_count_for(reader, &table->modules, 8);

	for (uint32_t i = 0; i < count; i++) {
		struct recorded_module module = {.path = take_text(reader)};

		module.build_id = (const uint8_t *)take_bytes(reader, &module.build_id_size);
		module.generation = take_u32(reader);
		module.bias = take(reader);
		module.start = take(reader);
		module.end = module.start + take(reader);
		module.loaded_ns = take(reader);
		module.gone_ns = take(reader) - 1;
		table->modules.items[i] = module;
	}
}

static void take_frames(struct index_reader *reader)
{
	struct recording *recording = reader->recording;
	uint32_t count = take_count_for(reader, &recording->tables->frames.frames, 2);
	uint64_t pc = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct recorded_frame *frame = &recording->tables->frames.frames.items[i];

		// A script's name and line are among the recording's names.
		*frame = (struct recorded_frame){0};
		frame->module =
			take_index_or_none(reader, recording->tables->modules.modules.count);
		frame->pc = take_step(reader, &pc);
	}
}

static void take_stacks(struct index_reader *reader)
{
	struct recording *recording = reader->recording;
	uint32_t count = take_count_for(reader, &recording->tables->trie.nodes, 2);
	struct stack_node *nodes = recording->tables->trie.nodes.items;

	recording_show_stacks(recording->tables);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t distance = (uint32_t)take_at_most(reader, i);

		nodes[i].parent = distance ? i - distance : RECORDING_NONE;
		nodes[i].depth = distance ? nodes[i - distance].depth + 1 : 1;
		expect(reader, nodes[i].depth <= DECODE_DEPTH_MAX);
	}
	for (uint32_t i = 0; i < count; i++)
		nodes[i].frame = take_index(reader, recording->tables->frames.frames.count);
}

static void take_sites(struct index_reader *reader, struct site_table *table)
{
	struct recording *recording = reader->recording;
	uint32_t count = take_count_for(reader, &table->sites, 9);
	struct site *sites = table->sites.items;
	uint64_t stack = 0;

	for (uint32_t i = 0; i < count; i++) {
		expect(reader, take_step(reader, &stack) <= recording->tables->stacks.count);
		sites[i].stack = (uint32_t)stack - 1;
	}
#define INDEX_SITE(field)                                                                          \
	for (uint32_t i = 0; i < count; i++)                                                       \
		sites[i].field = take(reader);
	INDEX_SITE_COLUMNS(INDEX_SITE)
#undef INDEX_SITE
}

static void take_threads(struct index_reader *reader)
{
	uint32_t count = take_count_for(reader, &reader->recording->tables->threads, 5);

	for (uint32_t i = 0; i < count; i++) {
		struct recorded_thread *thread = &reader->recording->tables->threads.items[i];

		thread->stream = take_u32(reader);
		thread->tid = take_u32(reader);
		thread->name = take_text(reader);
		thread->first_ns = take(reader);
		thread->events = take(reader);
	}
}

static void take_memory(struct index_reader *reader)
{
	uint32_t count = take_count_for(reader, &reader->recording->tables->memory, 7);
	uint64_t time = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct memory_sample *sample = &reader->recording->tables->memory.items[i];

		sample->time_ns = take_step(reader, &time);
		sample->virtual_size = take(reader);
		sample->resident = take(reader);
		sample->anonymous = take(reader);
		sample->file = take(reader);
		sample->shared = take(reader);
		sample->swap = take(reader);
	}
}

static void take_marks(struct index_reader *reader)
{
	uint32_t count = take_count_for(reader, &reader->recording->tables->marks, 2);
	uint64_t time = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct recorded_mark *mark = &reader->recording->tables->marks.items[i];

		mark->time_ns = take_step(reader, &time);
		mark->name = take_text(reader);
	}
}

static void take_switches(struct index_reader *reader)
{
	uint32_t count = take_count_for(reader, &reader->recording->tables->switches, 2);
	uint64_t time = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct recorded_switch *switched = &reader->recording->tables->switches.items[i];

		switched->time_ns = take_step(reader, &time);
		switched->on = take_at_most(reader, 1);
	}
}

static void take_mappings(struct index_reader *reader)
{
	struct recording *recording = reader->recording;
	uint32_t count = take_count_for(reader, &recording->tables->mappings, 14);
	uint64_t time = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct mapping_operation *mapping = &recording->tables->mappings.items[i];

		mapping->time_ns = take_step(reader, &time);
		mapping->kind = (enum trace_record)take_at_most(reader, UINT8_MAX);
		mapping->thread = take_index(reader, recording->tables->threads.count);
		mapping->stack = take_index_or_none(reader, recording->tables->stacks.count);
		mapping->requested = take(reader);
		mapping->address = take(reader);
		mapping->length = take(reader);
		mapping->old_address = take(reader);
		mapping->old_length = take(reader);
		mapping->offset = take(reader);
		mapping->protection = take_u32(reader);
		mapping->flags = take_u32(reader);
		mapping->fd = take_i32(reader);
		mapping->increment = cursor_signed(&reader->cursor);
		mapping_complete(mapping);
		expect(reader,
		       mapping->kind >= TRACE_RECORD_MMAP && mapping->kind <= TRACE_RECORD_BRK);
	}
}

static void take_mallopts(struct index_reader *reader)
{
	struct recording *recording = reader->recording;
	uint32_t count = take_count_for(reader, &recording->tables->mallopts, 6);
	uint64_t time = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct mallopt_operation *mallopt = &recording->tables->mallopts.items[i];

		mallopt->time_ns = take_step(reader, &time);
		mallopt->thread = take_index(reader, recording->tables->threads.count);
		mallopt->stack = take_index_or_none(reader, recording->tables->stacks.count);
		mallopt->parameter = take_i32(reader);
		mallopt->value = take_i32(reader);
		mallopt->result = take_i32(reader);
	}
}

static void take_pools(struct index_reader *reader)
{
	struct pool_table *table = reader->recording->pools;
	uint32_t count;

	table->all.peak_bytes = take(reader);
	table->all.peak_blocks = take(reader);
	table->all.peak_time_ns = take(reader);
	count = take_count(reader, 11);
	for (uint32_t i = 0; i < count && !reader->cursor.failed; i++) {
		struct recorded_pool pool = {.name = take_text(reader)};
		struct site_table sites = {0};

		pool.address = take(reader);
		pool.places = take(reader);
		pool.frees = take(reader);
		pool.resets = take(reader);
		pool.implicit_frees = take(reader);
		pool.wrong_frees = take(reader);
		pool.wrong_address = take(reader);
		pool.wrong_stack =
			take_index_or_none(reader, reader->recording->tables->stacks.count);
		pool.sum.peak_time_ns = take(reader);
		take_sites(reader, &sites);
		if (!pool_table_add(table, &pool, &sites))
			out_of_memory(reader);
	}
	pool_table_show(table);
}

/* They are taken apart when somebody asks for them: facts_unpack(). */
static void take_run_facts(struct index_reader *reader)
{
	uint32_t size;
	const char *packed = take_bytes(reader, &size);

	reader->recording->tables->packed_facts = size ? (const uint8_t *)packed : NULL;
	reader->recording->tables->packed_facts_size = size;
}

void index_forget(struct recording *recording, const struct recording_facts *facts)
{
	recording->facts = *facts;
	recording->tables->modules.modules.count = recording->tables->frames.frames.count = 0;
	recording_forget_lists(recording);
	recording->tables->packed_facts = NULL;
}

#define HEAD_SIZE (1 + sizeof(uint64_t)) /* version and fingerprint */

static bool is_of(const struct recording *recording, const uint8_t *data, size_t size)
{
	return size >= HEAD_SIZE && data[0] >= INDEX_VERSION_FIRST && data[0] <= INDEX_VERSION &&
	       bytes_u64(data + 1) == recording->tables->fingerprint;
}

struct err *index_read(struct recording *recording, const uint8_t *data, size_t size, bool *used)
{
	struct index_reader reader = {.recording = recording};
	struct recording_facts facts = recording->facts;
	uint64_t peak_time_ns;
	bool complete;

	*used = false;
	if (!is_of(recording, data, size))
		return NULL;
	reader.cursor = cursor_make(data + HEAD_SIZE, size - HEAD_SIZE);
	take_facts(&reader, data[0], &complete);
	peak_time_ns = take(&reader);
	take_modules(&reader);
	take_frames(&reader);
	take_stacks(&reader);
	take_sites(&reader, &recording->sites);
	take_threads(&reader);
	take_memory(&reader);
	take_marks(&reader);
	if (data[0] > INDEX_VERSION_FIRST)
		take_switches(&reader);
	take_mappings(&reader);
	take_mallopts(&reader);
	if (data[0] > INDEX_VERSION_SECOND)
		take_pools(&reader);
	if (data[0] > INDEX_VERSION_THIRD)
		take_run_facts(&reader);
	expect(&reader, reader.cursor.at == reader.cursor.end);
	if (reader.cursor.failed) {
		index_forget(recording, &facts);
		return reader.no_memory ? err_no_memory() : NULL;
	}
	recording->summary = site_table_sum(&recording->sites);
	recording->summary.peak_time_ns = peak_time_ns;
	recording->facts.complete = complete && !recording->facts.lost;
	recording->facts.writing = false;
	*used = true;
	return NULL;
}

/* Reads an operation. Its name will be shown, so it must have one. */
static uint8_t take_operation(struct index_reader *reader)
{
	return (uint8_t)take_at_most(reader, TRACE_OP_DELETE_ARRAY);
}

static void take_error(struct index_reader *reader, struct heap_error *error)
{
	const struct recording *recording = reader->recording;
	size_t nodes = recording->tables->stacks.count;

	error->kind = (enum heap_error_kind)take_at_most(reader, HEAP_ERROR_MISMATCH);
	error->entry = take_operation(reader);
	error->release = take_operation(reader);
	error->allocated = take_index_or_none(reader, nodes);
	error->freed = take_index_or_none(reader, nodes);
	error->freed_once = take_index_or_none(reader, nodes);
	error->count = take(reader);
	error->time_ns = take(reader);
	error->size = take(reader);
	error->offset = take(reader);
	error->thread = take_index(reader, recording->tables->threads.count);
	for (int i = 0; i < HEAP_ERROR_ADDRESSES; i++)
		error->addresses[i] = take(reader);
}

struct err *index_read_errors(struct recording *recording, const uint8_t *data, size_t size,
			      bool *used)
{
	struct index_reader reader = {.recording = recording, .cursor = cursor_make(data, size)};
	struct heap_errors *errors = &recording->blocks->heap_errors;
	uint64_t unjudged = take(&reader);
	uint32_t count = take_count_for(&reader, &errors->errors, 14);

	for (uint32_t i = 0; i < count; i++)
		take_error(&reader, &errors->errors.items[i]);
	expect(&reader, reader.cursor.at == reader.cursor.end);
	*used = !reader.cursor.failed;
	if (*used)
		errors->unjudged = unjudged;
	else
		errors->errors.count = 0;
	return reader.no_memory ? err_no_memory() : NULL;
}
