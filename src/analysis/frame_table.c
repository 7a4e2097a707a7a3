#include "analysis/frame_table.h"

#include "hosted/cleanup.h"

void frame_table_deinit(struct frame_table *table)
{
	vec_deinit(&table->frames);
	vec_deinit(&table->references);
	map_deinit(&table->by_id);
	map_deinit(&table->by_pc);
}

static struct err *add(struct frame_table *table, struct frame_reference reference, uint32_t *ret)
{
	// The last index stays free for RECORDING_NONE.
	if (table->references.count >= RECORDING_NONE - 1)
		return err_no_memory();
	if (!vec_push(&table->references, reference))
		return err_no_memory();
	*ret = (uint32_t)table->references.count - 1;
	return NULL;
}

static struct err *reference_of_id(struct frame_table *table, uint64_t id, uint32_t *ret)
{
	uint64_t *index = map_put(&table->by_id, id);
	struct err *err;

	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		// A frame that is never defined is one that got lost.
		err = add(table, (struct frame_reference){.pc = TRACE_PC_LOST}, ret);
		if (err)
			return err;
		*index = *ret;
	}
	*ret = (uint32_t)*index;
	return NULL;
}

struct err *frame_table_define(struct frame_table *table, const struct decode_event *event)
{
	uint32_t index = 0;
	struct err *err;

	err = reference_of_id(table, event->frame.id, &index);
	if (err)
		return err;

	struct frame_reference *reference = &table->references.items[index];

	if (!reference->defined) {
		reference->pc = event->frame.pc;
		reference->module = event->frame.module;
		reference->defined = true;
	}
	return NULL;
}

static struct err *reference_of_pc(struct frame_table *table, struct module_table *modules,
				   uint64_t pc, uint64_t ticks, uint32_t *ret)
{
	uint32_t module = RECORDING_NONE;
	struct err *err;

	if (pc > TRACE_PC_LAST_SPECIAL)
		module = module_table_at(modules, pc, ticks);

	uint64_t *first = map_put(&table->by_pc, pc);

	if (!first)
		return err_no_memory();
	for (uint64_t i = *first; i < table->references.count;
	     i = table->references.items[i].next) {
		if (table->references.items[i].module == module) {
			*ret = (uint32_t)i;
			return NULL;
		}
	}
	err = add(table,
		  (struct frame_reference){
			  .pc = pc,
			  .ticks = ticks,
			  .module = module,
			  .next = *first == MAP_NONE ? RECORDING_NONE : (uint32_t)*first,
			  .bare = true,
		  },
		  ret);
	if (!err)
		*first = *ret;
	return err;
}

struct err *frame_table_reference(struct frame_table *table, struct module_table *modules,
				  const struct decode_frame *frame, uint64_t ticks, uint32_t *ret)
{
	if (frame->id)
		return reference_of_id(table, frame->id, ret);
	return reference_of_pc(table, modules, frame->pc, ticks, ret);
}

static uint32_t module_of(struct module_table *modules, const struct frame_reference *reference)
{
	if (reference->pc <= TRACE_PC_LAST_SPECIAL)
		return RECORDING_NONE;
	if (!reference->bare)
		return reference->module ? module_table_find(modules, reference->module)
					 : RECORDING_NONE;
	if (reference->module != RECORDING_NONE)
		return (uint32_t)reference->module;
	return module_table_near(modules, reference->pc, reference->ticks);
}

/* chains: for each frame, another frame of the same pc. */
static struct err *add_frame(struct frame_table *table, struct map *by_pc, uint32_t *chains,
			     struct recorded_frame frame, uint32_t *ret)
{
	uint64_t *first = map_put(by_pc, frame.pc);

	if (!first)
		return err_no_memory();
	for (uint64_t i = *first; i < table->frames.count; i = chains[i]) {
		if (table->frames.items[i].module == frame.module) {
			*ret = (uint32_t)i;
			return NULL;
		}
	}
	*ret = (uint32_t)table->frames.count;
	if (!vec_push(&table->frames, frame))
		return err_no_memory();
	chains[*ret] = *first == MAP_NONE ? RECORDING_NONE : (uint32_t)*first;
	*first = *ret;
	return NULL;
}

struct err *frame_table_finish(struct frame_table *table, struct module_table *modules,
			       uint32_t *remap, bool *unique)
{
	size_t count = table->references.count;
	auto_free uint32_t *chains = calloc(count ? count : 1, sizeof(*chains));
	cleanup(map_deinit) struct map by_pc = {0};
	struct err *err;

	if (!chains)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct frame_reference *reference = &table->references.items[i];
		struct recorded_frame frame = {reference->pc, module_of(modules, reference)};

		err = add_frame(table, &by_pc, chains, frame, &remap[i]);
		if (err)
			return err;
	}
	*unique = table->frames.count == count;
	vec_deinit(&table->references);
	map_deinit(&table->by_id);
	map_deinit(&table->by_pc);
	return NULL;
}
