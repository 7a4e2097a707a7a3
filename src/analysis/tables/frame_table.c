#include "analysis/tables/frame_table.h"

#include "hosted/cleanup.h"

/*
 * Ids below this are found in an array. The agent counts ids from 1; others are allowed, but cost a
 * hash table.
 */
#define LOW_IDS (1u << 20)

void frame_table_finish(struct frame_table *table)
{
	vec_deinit(&table->references);
	vec_deinit(&table->by_low_id);
	vec_deinit(&table->chains);
	map_deinit(&table->by_id);
	map_deinit(&table->by_pc);
	free(table->names);
	table->names = NULL;
}

void frame_table_deinit(struct frame_table *table)
{
	vec_deinit(&table->frames);
	frame_table_finish(table);
}

static struct err *add(struct frame_table *table, struct frame_reference reference, uint32_t *ret)
{
	// The last index is RECORDING_NONE.
	if (table->references.count >= RECORDING_NONE - 1)
		return err_no_memory();
	if (!vec_push(&table->references, reference))
		return err_no_memory();
	*ret = (uint32_t)table->references.count - 1;
	return NULL;
}

/* The reference of a frame whose definition was not met yet. If it never is, it was lost. */
static const struct frame_reference undefined = {.pc = TRACE_PC_LOST};

static struct err *reference_of_high_id(struct frame_table *table, uint64_t id, uint32_t *ret)
{
	uint64_t *index = map_put(&table->by_id, id);
	struct err *err;

	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		err = add(table, undefined, ret);
		if (err)
			return err;
		*index = *ret;
	}
	*ret = (uint32_t)*index;
	return NULL;
}

static struct err *add_low_id(struct frame_table *table, uint64_t id, uint32_t *ret)
{
	struct err *err;

	while (table->by_low_id.count <= id)
		if (!vec_push(&table->by_low_id, 0))
			return err_no_memory();
	err = add(table, undefined, ret);
	if (!err)
		table->by_low_id.items[id] = *ret + 1;
	return err;
}

static struct err *reference_of_id(struct frame_table *table, uint64_t id, uint32_t *ret)
{
	if (id >= LOW_IDS)
		return reference_of_high_id(table, id, ret);
	if (id >= table->by_low_id.count || !table->by_low_id.items[id])
		return add_low_id(table, id, ret);
	*ret = table->by_low_id.items[id] - 1;
	return NULL;
}

struct err *frame_table_define(struct frame_table *table, struct arena *arena,
			       const struct decode_event *event)
{
	uint32_t index = 0;
	struct err *err;

	// Once frames are named, all definitions are known.
	if (table->names)
		return NULL;
	err = reference_of_id(table, event->frame.id, &index);
	if (err)
		return err;

	struct frame_reference *reference = &table->references.items[index];

	if (!reference->defined) {
		reference->pc = event->frame.pc;
		reference->module = event->frame.module;
		reference->defined = true;
		if (!(event->frame.flags & TRACE_FRAME_SCRIPT))
			return NULL;
		reference->line = (uint32_t)event->frame.line;
		reference->name = arena_copy(arena, event->frame.name.data, event->frame.name.size);
		if (!reference->name)
			return err_no_memory();
	}
	return NULL;
}

static struct err *reference_of_pc(struct frame_table *table, uint64_t pc, uint32_t *ret)
{
	const struct frame_reference bare = {.pc = pc, .bare = true};
	uint64_t *index = map_put(&table->by_pc, pc);
	struct err *err;

	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		err = add(table, bare, ret);
		if (err)
			return err;
		*index = *ret;
	}
	*ret = (uint32_t)*index;
	return NULL;
}

static uint32_t module_of_pc(const struct module_table *modules, uint64_t pc, uint64_t ticks)
{
	return pc <= TRACE_PC_LAST_SPECIAL ? RECORDING_NONE : module_table_near(modules, pc, ticks);
}

/* Whether frames with that reference may lie in different modules, because their times differ. */
static bool varies(const struct module_table *modules, const struct frame_reference *reference)
{
	return reference->bare && reference->pc > TRACE_PC_LAST_SPECIAL &&
	       module_table_varies(modules, reference->pc);
}

/* The module of all frames with that reference. */
static uint32_t module_of(const struct module_table *modules,
			  const struct frame_reference *reference)
{
	if (reference->bare)
		return module_of_pc(modules, reference->pc, 0);
	if (reference->pc <= TRACE_PC_LAST_SPECIAL || !reference->module)
		return RECORDING_NONE;
	return module_table_find(modules, reference->module);
}

/* *ret: the frame; it is added if it is new. */
static struct err *add_frame(struct frame_table *table, struct recorded_frame frame, uint32_t *ret)
{
	uint64_t *first = map_put(&table->by_pc, frame.pc);

	if (!first)
		return err_no_memory();
	for (uint64_t i = *first; i < table->frames.count; i = table->chains.items[i]) {
		if (table->frames.items[i].module == frame.module) {
			*ret = (uint32_t)i;
			return NULL;
		}
	}
	if (table->frames.count >= RECORDING_NONE - 1 || !vec_reserve(&table->frames, 1) ||
	    !vec_push(&table->chains, *first == MAP_NONE ? RECORDING_NONE : (uint32_t)*first))
		return err_no_memory();
	*ret = (uint32_t)table->frames.count;
	table->frames.items[table->frames.count++] = frame;
	*first = *ret;
	return NULL;
}

struct err *frame_table_name(struct frame_table *table, const struct module_table *modules,
			     bool *same)
{
	size_t count = table->references.count;
	auto_free uint32_t *names = calloc(count + 1, sizeof(*names));
	struct err *err;

	if (!names)
		return err_no_memory();
	*same = true;
	map_deinit(&table->by_pc);
	for (size_t i = 0; i < count; i++) {
		const struct frame_reference *reference = &table->references.items[i];
		struct recorded_frame frame = {
			.pc = reference->pc, .line = reference->line, .name = reference->name};

		if (varies(modules, reference)) {
			// Its frames are added when their events are read again.
			*same = false;
			continue;
		}
		frame.module = module_of(modules, reference);
		err = add_frame(table, frame, &names[i]);
		if (err)
			return err;
		*same = *same && names[i] == i;
	}
	for (size_t i = 0; i < table->by_low_id.count; i++)
		if (table->by_low_id.items[i])
			table->by_low_id.items[i] = names[table->by_low_id.items[i] - 1] + 1;
	table->names = steal(&names);
	return NULL;
}

/* As frame_table_reference(), on the second reading: all frames are known. */
static struct err *named(struct frame_table *table, const struct module_table *modules,
			 const struct decode_frame *frame, uint64_t ticks, uint32_t *ret)
{
	struct recorded_frame bare = {.pc = frame->pc};
	uint64_t reference;

	if (frame->id) {
		reference = map_get(&table->by_id, frame->id);
		if (reference != MAP_NONE) {
			*ret = table->names[reference];
			return NULL;
		}
		// Not found: the file has changed since the first reading.
		bare.pc = TRACE_PC_LOST;
	}
	bare.module = module_of_pc(modules, bare.pc, ticks);
	return add_frame(table, bare, ret);
}

struct err *frame_table_reference_slow(struct frame_table *table,
				       const struct module_table *modules,
				       const struct decode_frame *frame, uint64_t ticks,
				       uint32_t *ret)
{
	if (table->names)
		return named(table, modules, frame, ticks, ret);
	if (frame->id)
		return reference_of_id(table, frame->id, ret);
	return reference_of_pc(table, frame->pc, ret);
}
