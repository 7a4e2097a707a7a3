#include "analysis/tables/module_table.h"

#include <assert.h>

static_assert(MAP_NONE == TIME_NEVER, "what is not in `gone` was never unloaded");

void module_table_deinit(struct module_table *table)
{
	vec_deinit(&table->modules);
	map_deinit(&table->by_id);
	map_deinit(&table->gone);
}

/* The same id again. */
static void add_again(struct recorded_module *module, uint64_t ticks)
{
	if (ticks < module->loaded_ns)
		module->loaded_ns = ticks;
}

struct err *module_table_add(struct module_table *table, struct arena *arena,
			     const struct decode_event *event)
{
	struct recorded_module module = {
		.build_id_size = event->module.build_id_size,
		.generation = (uint32_t)event->module.generation,
		.bias = event->module.bias,
		.start = event->module.start,
		.end = event->module.end,
		.loaded_ns = event->time,
		.gone_ns = map_get(&table->gone, event->module.id),
	};

	if (table->modules.count >= RECORDING_NONE)
		return err_no_memory();

	uint64_t *index = map_put(&table->by_id, event->module.id);

	if (!index)
		return err_no_memory();
	if (*index != MAP_NONE) {
		add_again(&table->modules.items[*index], event->time);
		return NULL;
	}
	*index = table->modules.count;
	module.path = arena_copy(arena, event->module.path.data, event->module.path.size);
	module.build_id =
		(const uint8_t *)arena_copy(arena, event->module.build_id, module.build_id_size);
	if (!module.path || !module.build_id || !vec_push(&table->modules, module))
		return err_no_memory();
	return NULL;
}

struct err *module_table_gone(struct module_table *table, const struct decode_event *event)
{
	uint32_t index = module_table_find(table, event->module.id);
	uint64_t *ticks;

	if (event->time == TIME_NEVER)
		return NULL;
	ticks = map_put(&table->gone, event->module.id);
	if (!ticks)
		return err_no_memory();
	if (event->time < *ticks)
		*ticks = event->time;
	if (index != RECORDING_NONE)
		table->modules.items[index].gone_ns = *ticks;
	return NULL;
}

uint32_t module_table_find(const struct module_table *table, uint64_t id)
{
	uint64_t index = map_get(&table->by_id, id);

	return index < table->modules.count ? (uint32_t)index : RECORDING_NONE;
}

/* Whether a module contains a return address, which may lie just behind its last instruction. */
static bool covers(const struct recorded_module *module, uint64_t pc)
{
	return pc - 1 >= module->start && pc - 1 < module->end;
}

static bool holds(const struct recorded_module *module, uint64_t ticks)
{
	return ticks >= module->loaded_ns && ticks < module->gone_ns;
}

/*
 * Whether `a` is rather the module of a time than `b`; both cover the address. Of two that were
 * there, the one that was loaded later: the record of the other's end is missing.
 */
static bool is_nearer(const struct recorded_module *a, const struct recorded_module *b,
		      uint64_t ticks)
{
	if (holds(a, ticks) != holds(b, ticks))
		return holds(a, ticks);
	return holds(a, ticks) ? a->loaded_ns > b->loaded_ns : a->loaded_ns < b->loaded_ns;
}

uint32_t module_table_near(const struct module_table *table, uint64_t pc, uint64_t ticks)
{
	const struct recorded_module *modules = table->modules.items;
	uint32_t found = RECORDING_NONE;

	for (uint32_t i = 0; i < table->modules.count; i++) {
		if (!covers(&modules[i], pc) || ticks >= modules[i].gone_ns)
			continue;
		if (found == RECORDING_NONE || is_nearer(&modules[i], &modules[found], ticks))
			found = i;
	}
	return found;
}

bool module_table_varies(const struct module_table *table, uint64_t pc)
{
	unsigned int covering = 0;

	for (uint32_t i = 0; i < table->modules.count; i++) {
		const struct recorded_module *module = &table->modules.items[i];

		if (!covers(module, pc))
			continue;
		if (covering++ || module->gone_ns != TIME_NEVER)
			return true;
	}
	return false;
}
