#include "analysis/recording.h"

#include <errno.h>
#include <fcntl.h>

#include "analysis/recording_data.h"
#include "analysis/recording_memory.h"
#include "analysis/recording_source.h"
#include "hosted/cleanup.h"

void recording_note_end(struct recording *recording)
{
	recording->facts.alive = recording->facts.writing = false;
}

/* How a recording is to be read. */
struct opening {
	unsigned int needs;
	uint64_t moment; /* as in recording_open_moment(); 0: none */
	recording_progress *progress;
	void *argument;
};

/* core: where the source comes from; NULL: from a recording. */
static struct err *open_source(const struct byte_source *source, const struct opening *opening,
			       const struct coredump_facts *core, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct err *err = recording_create(&recording);

	if (err)
		return err;
	if (core) {
		recording->facts.core =
			(const void *)arena_copy(&recording->tables->arena, core, sizeof(*core));
		if (!recording->facts.core)
			return err_no_memory();
	}
	recording->blocks->live_line.moment = opening->moment;
	err = load_recording(recording, source, opening->needs, opening->progress,
			     opening->argument);
	if (err)
		return err;
	*ret = steal(&recording);
	return NULL;
}

struct err *recording_open_source(const struct byte_source *source, unsigned int needs,
				  recording_progress *progress, void *argument,
				  struct recording **ret)
{
	const struct opening opening = {needs, 0, progress, argument};

	return open_source(source, &opening, NULL, ret);
}

/* Opens what the source has. It stays the caller's. */
static struct err *open_found(const struct recording_source *source, const struct opening *opening,
			      struct recording **ret)
{
	return open_source(source->bytes, opening, source->core, ret);
}

static struct err *open_path(const char *path, const struct opening *opening,
			     struct recording **ret)
{
	cleanup(recording_source_close) struct recording_source source = {0};
	struct err *err = recording_source_open(path, &source);

	return err ? err : open_found(&source, opening, ret);
}

struct err *recording_open_raw(const char *const *paths, size_t count, struct recording **ret)
{
	cleanup(recording_source_close) struct recording_source source = {0};
	const struct opening opening = {.needs = RECORDING_BLOCKS};
	struct err *err = recording_source_open_raw(paths, count, &source);

	return err ? err : open_found(&source, &opening, ret);
}

struct err *recording_open(const char *path, unsigned int needs, recording_progress *progress,
			   void *argument, struct recording **ret)
{
	const struct opening opening = {needs, 0, progress, argument};

	return open_path(path, &opening, ret);
}

struct err *recording_open_descriptor(const char *name, int fd, unsigned int needs,
				      struct recording **ret)
{
	cleanup(byte_source_close) struct byte_source source = {.fd = -1};
	const struct opening opening = {.needs = needs};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct err *err;

	if (copy < 0)
		return err_create_errno(errno, "%s: descriptor %d", name, fd);
	err = byte_source_take(name, copy, &source);
	return err ? err : open_source(&source, &opening, NULL, ret);
}

struct err *recording_open_moment(const char *path, uint64_t operations,
				  recording_progress *progress, void *argument,
				  struct recording **ret)
{
	const struct opening opening = {RECORDING_FROM_EVENTS, operations, progress, argument};

	return open_path(path, &opening, ret);
}

struct err *recording_open_memory(const char *name, const void *data, size_t size,
				  unsigned int needs, struct recording **ret)
{
	const struct opening opening = {.needs = needs};
	struct byte_source source = byte_source_memory(name, data, size);

	return open_source(&source, &opening, NULL, ret);
}

const struct recording_facts *recording_facts(const struct recording *recording)
{
	return &recording->facts;
}

const struct recording_summary *recording_summary(const struct recording *recording)
{
	return &recording->summary;
}

const struct recording_summary *recording_pool_sum(const struct recording *recording)
{
	return &recording->pools->all;
}

const struct pool_birth *recording_pool_births(const struct recording *recording, size_t *count)
{
	*count = recording->pools->birth_count;
	return recording->pools->births;
}

const struct block_columns *recording_blocks(const struct recording *recording)
{
	return &recording->blocks->store.columns;
}

const uint8_t *recording_symbols(const struct recording *recording, size_t *size)
{
	*size = recording->tables->symbols_size;
	return recording->tables->symbols;
}

const struct heap_error *recording_heap_errors(const struct recording *recording, uint32_t *count,
					       uint64_t *unjudged)
{
	*count = (uint32_t)recording->blocks->heap_errors.errors.count;
	*unjudged = recording->blocks->heap_errors.unjudged;
	return recording->blocks->heap_errors.errors.items;
}

/* The functions that return arrays differ only in the type and the member. */
#define ARRAY(function, type, vec)                                                                 \
	const type *function(const struct recording *recording, uint32_t *count)                   \
	{                                                                                          \
		if (count)                                                                         \
			*count = (uint32_t)recording->vec.count;                                   \
		return recording->vec.items;                                                       \
	}

ARRAY(recording_modules, struct recorded_module, tables->modules.modules)
ARRAY(recording_frames, struct recorded_frame, tables->frames.frames)
ARRAY(recording_stacks, struct stack_node, tables->stacks)
ARRAY(recording_sites, struct site, sites.sites)
ARRAY(recording_threads, struct recorded_thread, tables->threads)
ARRAY(recording_memory, struct memory_sample, tables->memory)
ARRAY(recording_marks, struct recorded_mark, tables->marks)
ARRAY(recording_switches, struct recorded_switch, tables->switches)
ARRAY(recording_mappings, struct mapping_operation, tables->mappings)
ARRAY(recording_mallopts, struct mallopt_operation, tables->mallopts)
ARRAY(recording_pools, struct recorded_pool, pools->pools)
