#include "analysis/tables/module_table.h"

void module_table_deinit(struct module_table *table)
{
	vec_deinit(&table->modules);
	map_deinit(&table->by_id);
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
		.gone_ns = TIME_NEVER,
	};

	if (table->modules.count >= RECORDING_NONE)
		return err_no_memory();

	uint64_t *index = map_put(&table->by_id, event->module.id);

	if (!index)
		return err_no_memory();
	if (*index != MAP_NONE)
		return NULL;
	*index = table->modules.count;
	module.path = arena_copy(arena, event->module.path.data, event->module.path.size);
	module.build_id =
		(const uint8_t *)arena_copy(arena, event->module.build_id, module.build_id_size);
	if (!module.path || !module.build_id || !vec_push(&table->modules, module))
		return err_no_memory();
	return NULL;
}

void module_table_gone(struct module_table *table, const struct decode_event *event)
{
	uint32_t index = module_table_find(table, event->module.id);

	if (index != RECORDING_NONE)
		table->modules.items[index].gone_ns = event->time;
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

static bool holds(const struct recorded_module *module, uint64_t pc, uint64_t ticks)
{
	return covers(module, pc) && ticks >= module->loaded_ns && ticks < module->gone_ns;
}

uint32_t module_table_at(struct module_table *table, uint64_t pc, uint64_t ticks)
{
	const struct recorded_module *modules = table->modules.items;

	if (table->last < table->modules.count && holds(&modules[table->last], pc, ticks))
		return table->last;
	for (uint32_t i = 0; i < table->modules.count; i++) {
		if (holds(&modules[i], pc, ticks)) {
			table->last = i;
			return i;
		}
	}
	return RECORDING_NONE;
}

uint32_t module_table_near(struct module_table *table, uint64_t pc, uint64_t ticks)
{
	uint32_t found = module_table_at(table, pc, ticks);

	if (found != RECORDING_NONE)
		return found;
	for (uint32_t i = 0; i < table->modules.count; i++) {
		const struct recorded_module *module = &table->modules.items[i];

		if (!covers(module, pc) || module->loaded_ns < ticks)
			continue;
		if (found == RECORDING_NONE ||
		    module->loaded_ns < table->modules.items[found].loaded_ns)
			found = i;
	}
	return found;
}
