#include "analysis/load/load_walk.h"

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

void load_walk_deinit(struct load_walk *walk)
{
	vec_deinit(&walk->frame_ids);
	vec_deinit(&walk->module_ids);
}

struct err *load_walk_begin(struct load *load)
{
	const struct load_walk *walk = load->walk;

	// Its place among the streams is that of the survivors.
	return walk->argument ? walk->begin(walk->argument, &load->recording->sites,
					    load->stream_count + 1)
			      : NULL;
}

struct err *load_walk_allocated(struct load *load, uint32_t index, uint64_t implicit_frees)
{
	const struct block_store *store = &load->recording->blocks->store;
	const struct load_walk *walk = load->walk;
	const struct displaced_block *displaced =
		store->implicit_frees != implicit_frees
			? &store->displaced.items[store->displaced.count - 1]
			: NULL;

	if (!walk->argument)
		return NULL;
	return walk->allocated(walk->argument, index, load->now, store->latest,
			       displaced ? &displaced->block : NULL);
}

struct err *load_walk_freed(struct load *load, uint32_t index, const struct live_block *block,
			    uint64_t implicit_frees)
{
	const struct load_walk *walk = load->walk;

	if (!walk->argument)
		return NULL;
	return walk->freed(walk->argument, index, load->now, block,
			   load->recording->blocks->store.implicit_frees != implicit_frees);
}

/* Frames have their last numbers, and the table of ids is still there. */
static struct err *take_ids(struct load *load)
{
	const struct frame_table *frames = &load->recording->tables->frames;
	const struct module_table *modules = &load->recording->tables->modules;
	struct load_walk *walk = load->walk;
	size_t count = frames->frames.count;

	walk->frame_ids.count = walk->module_ids.count = 0;
	if (!vec_reserve(&walk->frame_ids, count + 1) ||
	    !vec_reserve(&walk->module_ids, modules->modules.count + 1))
		return err_no_memory();
	walk->frame_ids.count = count;
	memset(walk->frame_ids.items, 0, count * sizeof(uint64_t));
	for (size_t i = 0; i < map_size(&frames->by_id); i++) {
		const struct map_entry *entry = &frames->by_id.entries[i];

		if (entry->value != MAP_NONE && frames->names[entry->value] < count)
			walk->frame_ids.items[frames->names[entry->value]] = entry->key;
	}
	// Low ids after high ones: they are what writers use.
	for (size_t id = 1; id < frames->by_low_id.count; id++)
		if (frames->by_low_id.items[id])
			walk->frame_ids.items[frames->by_low_id.items[id] - 1] = id;
	walk->module_ids.count = modules->modules.count;
	memset(walk->module_ids.items, 0, modules->modules.count * sizeof(uint64_t));
	for (size_t i = 0; i < map_size(&modules->by_id); i++)
		if (modules->by_id.entries[i].value < modules->modules.count)
			walk->module_ids.items[modules->by_id.entries[i].value] =
				modules->by_id.entries[i].key;
	return NULL;
}

struct err *load_walk_end(struct load *load)
{
	struct load_walk *walk = load->walk;
	struct err *err = take_ids(load);

	if (err || !walk->argument)
		return err;
	return walk->end(walk->argument, &load->recording->blocks->store.live);
}

struct err *load_walk(const struct byte_source *source, struct load_walk *walk,
		      recording_progress *progress, void *argument, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	cleanup(load_deinit) struct load load = {
		.source = source,
		.progress = progress,
		.argument = argument,
		.walk = walk,
	};
	struct err *err = recording_create(&recording);

	load.recording = recording;
	if (!err)
		err = load_begin(&load, RECORDING_FROM_EVENTS);
	if (!err)
		err = load_events(&load);
	if (err)
		return err;
	walk->clock = load.clock;
	walk->last_ticks = load.last_ticks;
	*ret = steal(&recording);
	return NULL;
}
