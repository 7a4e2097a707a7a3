#include "analysis/recording_data.h"

static void tables_deinit(void *object)
{
	struct recording_tables *tables = object;

	module_table_deinit(&tables->modules);
	frame_table_deinit(&tables->frames);
	stack_trie_deinit(&tables->trie);
	vec_deinit(&tables->threads);
	vec_deinit(&tables->memory);
	vec_deinit(&tables->marks);
	vec_deinit(&tables->switches);
	vec_deinit(&tables->mappings);
	vec_deinit(&tables->mallopts);
	vec_deinit(&tables->unseen);
	vec_deinit(&tables->patched);
	sight_destroy(tables->sight);
	live_data_deinit(&tables->live);
	free(tables->symbols);
	free(tables->curve);
	arena_deinit(&tables->arena);
}

static void blocks_deinit(void *object)
{
	struct recording_blocks *blocks = object;

	block_store_deinit(&blocks->store);
	block_cache_destroy(blocks->cache);
	index_mapping_deinit(&blocks->index_mapping);
	vec_deinit(&blocks->live_line.steps);
	heap_errors_deinit(&blocks->heap_errors);
}

static void pools_deinit(void *object)
{
	pool_table_deinit(object);
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	site_table_deinit(&recording->sites);
	shared_drop(recording->tables);
	shared_drop(recording->blocks);
	shared_drop(recording->pools);
	shared_drop(recording->facts_cache);
	free(recording->aggregate);
	free(recording);
}

/* tables: become the recording's; NULL: no memory, the error of this. */
static struct err *create(struct recording_tables *tables, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *recording = calloc(1, sizeof(*recording));

	if (!recording) {
		shared_drop(tables);
		return err_no_memory();
	}
	recording->tables = tables;
	recording->blocks = shared_create(sizeof(*recording->blocks), blocks_deinit);
	recording->pools = shared_create(sizeof(*recording->pools), pools_deinit);
	if (!tables || !recording->blocks || !recording->pools)
		return err_no_memory();
	*ret = steal(&recording);
	return NULL;
}

void recording_forget_lists(struct recording *recording)
{
	struct recording_tables *tables = recording->tables;

	stack_trie_deinit(&tables->trie);
	tables->trie = (struct stack_trie){0};
	tables->stacks = (struct stack_nodes){0};
	site_table_deinit(&recording->sites);
	recording->sites = (struct site_table){0};
	pool_table_deinit(recording->pools);
	*recording->pools = (struct pool_table){0};
	tables->threads.count = tables->memory.count = tables->marks.count = 0;
	tables->mappings.count = tables->mallopts.count = tables->switches.count = 0;
}

struct err *recording_create(struct recording **ret)
{
	return create(shared_create(sizeof(struct recording_tables), tables_deinit), ret);
}

struct err *recording_create_alike(const struct recording *recording, struct recording **ret)
{
	struct err *err = create(shared_hold(recording->tables), ret);

	if (!err)
		(*ret)->facts = recording->facts;
	return err;
}
