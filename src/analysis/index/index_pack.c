#include "analysis/index/index_pack.h"

#include <string.h>

#include "analysis/facts/facts_pack.h"
#include "analysis/index/index_read.h"
#include "analysis/recording_data.h"
#include "base/varint.h"
#include "hosted/cleanup.h"

static void put(struct buf *buf, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_put(buf, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

static void put_signed(struct buf *buf, int64_t value)
{
	put(buf, zigzag(value));
}

static void put_text(struct buf *buf, const char *text)
{
	size_t size = strlen(text);

	put(buf, size);
	buf_put(buf, text, size);
}

/* Writes the difference to *before, and puts value there. */
static void put_step(struct buf *buf, uint64_t value, uint64_t *before)
{
	put_signed(buf, (int64_t)(value - *before));
	*before = value;
}

static void put_list(struct buf *buf, const char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	put(buf, count);
	for (size_t i = 0; i < count; i++)
		put_text(buf, list[i]);
}

static void put_facts(struct buf *buf, const struct recording_facts *facts)
{
	static const char *const none[] = {NULL};

	put_text(buf, facts->program);
	put_text(buf, facts->directory);
	put_text(buf, facts->host);
	put_text(buf, facts->kernel);
	put_text(buf, facts->agent_version);
	put_list(buf, facts->arguments);
	put_list(buf, facts->environment ? facts->environment : none);
	put(buf, (facts->ended ? INDEX_ENDED : 0) | (facts->complete ? INDEX_COMPLETE : 0) |
			 (facts->environment ? INDEX_ENVIRONMENT : 0));
	put(buf, facts->end_reason);
	put(buf, facts->end_status);
	put(buf, facts->duration_ns);
	put(buf, facts->events);
	put(buf, facts->allocations);
	put(buf, facts->frees);
	put(buf, facts->reallocs);
	put(buf, facts->failed_allocations);
	put(buf, facts->unknown_frees);
	put(buf, facts->implicit_frees);
	put(buf, facts->off_periods);
	put(buf, facts->off_ns);
	put(buf, facts->culled_allocations);
	put(buf, facts->culled_bytes);
}

static void put_modules(struct buf *buf, const struct recording *recording)
{
	put(buf, recording->tables->modules.modules.count);
	for (size_t i = 0; i < recording->tables->modules.modules.count; i++) {
		const struct recorded_module *module = &recording->tables->modules.modules.items[i];

		put_text(buf, module->path);
		put(buf, module->build_id_size);
		buf_put(buf, module->build_id, module->build_id_size);
		put(buf, module->generation);
		put(buf, module->bias);
		put(buf, module->start);
		put(buf, module->end - module->start);
		put(buf, module->loaded_ns);
		put(buf, module->gone_ns + 1); // TIME_NEVER becomes 0.
	}
}

static void put_stacks(struct buf *buf, const struct recording *recording)
{
	const struct recorded_frame *frames = recording->tables->frames.frames.items;
	const struct stack_node *nodes = recording->tables->stacks.items;
	uint64_t before = 0;

	put(buf, recording->tables->frames.frames.count);
	for (size_t i = 0; i < recording->tables->frames.frames.count; i++) {
		put(buf, (uint32_t)(frames[i].module + 1));
		put_step(buf, frames[i].pc, &before);
	}
	put(buf, recording->tables->stacks.count);
	for (size_t i = 0; i < recording->tables->stacks.count; i++)
		put(buf, nodes[i].parent == RECORDING_NONE ? 0 : i - nodes[i].parent);
	for (size_t i = 0; i < recording->tables->stacks.count; i++)
		put(buf, nodes[i].frame);
}

static void put_sites(struct buf *buf, const struct site *sites, size_t count)
{
	uint64_t before = 0;

	put(buf, count);
	for (size_t i = 0; i < count; i++)
		put_step(buf, (uint32_t)(sites[i].stack + 1), &before);
#define INDEX_SITE(field)                                                                          \
	for (size_t i = 0; i < count; i++)                                                         \
		put(buf, sites[i].field);
	INDEX_SITE_COLUMNS(INDEX_SITE)
#undef INDEX_SITE
}

static void put_threads(struct buf *buf, const struct recording *recording)
{
	put(buf, recording->tables->threads.count);
	for (size_t i = 0; i < recording->tables->threads.count; i++) {
		const struct recorded_thread *thread = &recording->tables->threads.items[i];

		put(buf, thread->stream);
		put(buf, thread->tid);
		put_text(buf, thread->name);
		put(buf, thread->first_ns);
		put(buf, thread->events);
	}
}

static void put_memory(struct buf *buf, const struct recording *recording)
{
	uint64_t time = 0;

	put(buf, recording->tables->memory.count);
	for (size_t i = 0; i < recording->tables->memory.count; i++) {
		const struct memory_sample *sample = &recording->tables->memory.items[i];

		put_step(buf, sample->time_ns, &time);
		put(buf, sample->virtual_size);
		put(buf, sample->resident);
		put(buf, sample->anonymous);
		put(buf, sample->file);
		put(buf, sample->shared);
		put(buf, sample->swap);
	}
}

static void put_marks(struct buf *buf, const struct recording *recording)
{
	uint64_t time = 0;

	put(buf, recording->tables->marks.count);
	for (size_t i = 0; i < recording->tables->marks.count; i++) {
		put_step(buf, recording->tables->marks.items[i].time_ns, &time);
		put_text(buf, recording->tables->marks.items[i].name);
	}
}

static void put_switches(struct buf *buf, const struct recording *recording)
{
	uint64_t time = 0;

	put(buf, recording->tables->switches.count);
	for (size_t i = 0; i < recording->tables->switches.count; i++) {
		put_step(buf, recording->tables->switches.items[i].time_ns, &time);
		put(buf, recording->tables->switches.items[i].on);
	}
}

static void put_mappings(struct buf *buf, const struct recording *recording)
{
	uint64_t time = 0;

	put(buf, recording->tables->mappings.count);
	for (size_t i = 0; i < recording->tables->mappings.count; i++) {
		const struct mapping_operation *mapping = &recording->tables->mappings.items[i];

		put_step(buf, mapping->time_ns, &time);
		put(buf, mapping->kind);
		put(buf, mapping->thread);
		put(buf, (uint32_t)(mapping->stack + 1));
		put(buf, mapping->requested);
		put(buf, mapping->address);
		put(buf, mapping->length);
		put(buf, mapping->old_address);
		put(buf, mapping->old_length);
		put(buf, mapping->offset);
		put(buf, mapping->protection);
		put(buf, mapping->flags);
		put_signed(buf, mapping->fd);
		put_signed(buf, mapping->increment);
	}
}

static void put_mallopts(struct buf *buf, const struct recording *recording)
{
	uint64_t time = 0;

	put(buf, recording->tables->mallopts.count);
	for (size_t i = 0; i < recording->tables->mallopts.count; i++) {
		const struct mallopt_operation *mallopt = &recording->tables->mallopts.items[i];

		put_step(buf, mallopt->time_ns, &time);
		put(buf, mallopt->thread);
		put(buf, (uint32_t)(mallopt->stack + 1));
		put_signed(buf, mallopt->parameter);
		put_signed(buf, mallopt->value);
		put_signed(buf, mallopt->result);
	}
}

static void put_pools(struct buf *buf, const struct recording *recording)
{
	const struct recording_summary *all = &recording->pools->all;

	put(buf, all->peak_bytes);
	put(buf, all->peak_blocks);
	put(buf, all->peak_time_ns);
	put(buf, recording->pools->pools.count);
	for (size_t i = 0; i < recording->pools->pools.count; i++) {
		const struct recorded_pool *pool = &recording->pools->pools.items[i];

		put_text(buf, pool->name);
		put(buf, pool->address);
		put(buf, pool->places);
		put(buf, pool->frees);
		put(buf, pool->resets);
		put(buf, pool->implicit_frees);
		put(buf, pool->wrong_frees);
		put(buf, pool->wrong_address);
		put(buf, (uint32_t)(pool->wrong_stack + 1));
		put(buf, pool->sum.peak_time_ns);
		put_sites(buf, pool->sites, pool->site_count);
	}
}

void index_pack_errors(const struct recording *recording, struct buf *ret)
{
	const struct heap_errors *errors = &recording->blocks->heap_errors;

	put(ret, errors->unjudged);
	put(ret, errors->errors.count);
	for (size_t i = 0; i < errors->errors.count; i++) {
		const struct heap_error *error = &errors->errors.items[i];

		put(ret, error->kind);
		put(ret, error->entry);
		put(ret, error->release);
		put(ret, (uint32_t)(error->allocated + 1));
		put(ret, (uint32_t)(error->freed + 1));
		put(ret, (uint32_t)(error->freed_once + 1));
		put(ret, error->count);
		put(ret, error->time_ns);
		put(ret, error->size);
		put(ret, error->offset);
		put(ret, error->thread);
		for (int j = 0; j < HEAP_ERROR_ADDRESSES; j++)
			put(ret, error->addresses[j]);
	}
}

/* Their length, and they: readers need not take them apart. Length 0: they are not known. */
static struct err *put_run_facts(struct buf *buf, const struct recording *recording)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	const struct run_facts *facts;
	struct err *err = recording_run_facts(recording, &facts);

	if (!err && facts) {
		facts_pack(recording, facts, &packed);
		err = buf_finish(&packed);
	}
	if (err)
		return err;
	put(buf, packed.size);
	buf_put(buf, packed.data, packed.size);
	return NULL;
}

struct err *index_pack(const struct recording *recording, struct buf *ret)
{
	if (recording->facts.writing || recording->facts.damaged_chunks)
		return NULL;
	buf_char(ret, INDEX_VERSION);
	buf_put(ret, &recording->tables->fingerprint, sizeof(recording->tables->fingerprint));
	put_facts(ret, &recording->facts);
	put(ret, recording->summary.peak_time_ns);
	put_modules(ret, recording);
	put_stacks(ret, recording);
	put_sites(ret, recording->sites.sites.items, recording->sites.sites.count);
	put_threads(ret, recording);
	put_memory(ret, recording);
	put_marks(ret, recording);
	put_switches(ret, recording);
	put_mappings(ret, recording);
	put_mallopts(ret, recording);
	put_pools(ret, recording);
	return put_run_facts(ret, recording);
}
