#include "analysis/recording_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "coredump/turned.h"
#include "import/import.h"

void recording_source_close(struct recording_source *source)
{
	coredump_close(source->coredump);
	// Zeroed, it has no descriptor.
	if (source->file.name)
		byte_source_close(&source->file);
	for (size_t i = 0; i < source->fd_count; i++)
		byte_source_close(&(struct byte_source){.fd = source->fds[i]});
	free(source->fds);
	free(source->written);
	free(source->turned);
	*source = (struct recording_source){0};
}

/* Turns the file around if it is a big-endian recording. */
static struct err *settle_order(struct recording_source *source)
{
	bool big;
	struct err *err = turned_is_needed(&source->file, &big);

	if (err || !big)
		return err;
	err = turned_read(&source->file, &source->turned, &source->turned_source);
	source->bytes = &source->turned_source;
	return err;
}

/* Opens the recording that a core dump led to. */
static struct err *follow(struct recording_source *source)
{
	struct err *err;

	byte_source_close(&source->file);
	source->file = (struct byte_source){.fd = -1};
	source->bytes = &source->file;
	err = byte_source_open(source->written, &source->file);
	return err ? err : settle_order(source);
}

static struct err *open_core(const char *path, struct recording_source *source)
{
	struct err *err = coredump_open(path, source->file.fd, &source->coredump, &source->written);

	if (err)
		return err;
	if (source->written)
		return follow(source);
	source->bytes = coredump_table(source->coredump);
	source->core = coredump_facts(source->coredump);
	return NULL;
}

/* Reads the file of another profiler, in place of which the source has what it becomes. */
static struct err *open_import(const char *path, struct recording_source *source)
{
	const struct import_file file = {path, source->file.fd};
	int imported;
	struct err *err = import_open(&file, 1, &imported);

	if (err)
		return err;
	byte_source_close(&source->file);
	return byte_source_take(path, imported, &source->file);
}

static struct err *open_file(const char *path, struct recording_source *source)
{
	const char *format = NULL;
	bool core;
	struct err *err = byte_source_open(path, &source->file);

	if (!err)
		err = import_format(&(struct import_file){path, source->file.fd}, &format);
	if (err || format)
		return err ? err : open_import(path, source);
	err = coredump_is(path, source->file.fd, &core);
	if (err || core)
		return err ? err : open_core(path, source);
	return settle_order(source);
}

struct err *recording_source_open(const char *path, struct recording_source *ret)
{
	struct err *err;

	*ret = (struct recording_source){.bytes = &ret->file};
	err = open_file(path, ret);
	if (err)
		recording_source_close(ret);
	return err;
}

struct err *recording_source_open_raw(const char *const *paths, size_t count,
				      struct recording_source *ret)
{
	struct err *err = NULL;

	*ret = (struct recording_source){.fds = calloc(count, sizeof(*ret->fds))};
	if (!ret->fds)
		return err_no_memory();
	while (!err && ret->fd_count < count) {
		struct byte_source file;

		err = byte_source_open(paths[ret->fd_count], &file);
		if (!err)
			ret->fds[ret->fd_count++] = file.fd;
	}
	if (!err)
		err = coredump_open_raw(paths, ret->fds, count, &ret->coredump);
	if (err) {
		recording_source_close(ret);
		return err;
	}
	ret->bytes = coredump_table(ret->coredump);
	ret->core = coredump_facts(ret->coredump);
	return NULL;
}
