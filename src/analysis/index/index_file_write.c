#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/index/index_file.h"
#include "analysis/index/index_file_layout.h"
#include "analysis/index/index_pack.h"
#include "hosted/cleanup.h"
#include "hosted/files/file_room.h"
#include "hosted/parallel.h"

struct writing {
	struct index_file_header header;
	const void *data[INDEX_SECTION_COUNT];
	int fd;
	atomic_int failure; /* errno, 0: none */
};

static void set_section(struct writing *writing, size_t number, const void *data, uint64_t size)
{
	writing->data[number] = data;
	writing->header.sections[number].size = data ? size : 0;
}

static struct err *set_views(struct writing *writing, const struct recording *recording)
{
	const struct site_span *spans;
	const uint32_t *order;
	struct err *err;

	for (size_t i = 0; i < BLOCK_ORDER_STORED; i++) {
		err = recording_block_order(recording, (enum block_order)i, &order);
		if (err)
			return err;
		set_section(writing, INDEX_SECTION_ORDERS + i, order,
			    writing->header.rows * sizeof(*order));
	}
	err = recording_site_spans(recording, &spans);
	if (err)
		return err;
	set_section(writing, INDEX_SECTION_SPANS, spans,
		    recording->sites.sites.count * sizeof(*spans));
	return NULL;
}

static struct err *set_sections(struct writing *writing, const struct recording *recording,
				struct buf *sums, struct buf *errors)
{
	const struct block_columns *columns = &recording->blocks->store.columns;
	struct err *err;

	writing->header = (struct index_file_header){
		.magic = INDEX_FILE_MAGIC,
		.version = INDEX_FILE_VERSION,
		.section_count = INDEX_SECTION_COUNT,
		.rows = columns->count,
	};
	index_file_set_recording(&writing->header, recording);
#define BLOCK_COLUMN(name, type)                                                                   \
	set_section(writing, BLOCK_COLUMN_##name, columns->name, columns->count * sizeof(type));
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	err = set_views(writing, recording);
	if (err)
		return err;
	err = index_pack(recording, sums);
	if (err)
		return err;
	if (recording->blocks->heap_errors.wanted)
		index_pack_errors(recording, errors);
	err = buf_finish(sums);
	if (!err)
		err = buf_finish(errors);
	if (err)
		return err;
	set_section(writing, INDEX_SECTION_SUMS, sums->data, sums->size);
	set_section(writing, INDEX_SECTION_ERRORS, errors->data, errors->size);
	set_section(writing, INDEX_SECTION_POOL_BIRTHS, recording->pools->births,
		    recording->pools->birth_count * sizeof(struct pool_birth));
	writing->header.file_size = index_file_offset(&writing->header, INDEX_SECTION_COUNT);
	return NULL;
}

static int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	const uint8_t *p = data;

	while (size) {
		ssize_t written = pwrite(fd, p, size, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? errno : EIO;
		p += written;
		size -= (size_t)written;
		offset += (uint64_t)written;
	}
	return 0;
}

static void write_section(void *argument, size_t number)
{
	struct writing *writing = argument;
	size_t size = writing->header.sections[number].size;
	int failure;

	writing->header.sections[number].checksum =
		index_file_checksum(writing->data[number], size);
	failure = write_at(writing->fd, writing->data[number], size,
			   index_file_offset(&writing->header, number));
	if (failure)
		writing->failure = failure;
}

/*
 * Writes the file. Returns 0 or an errno. The header is written last: without it the file is not
 * used.
 */
static int write_file(struct writing *writing)
{
	int failure = file_room_take(writing->fd, writing->header.file_size);

	if (failure == EOPNOTSUPP)
		failure = ftruncate(writing->fd, (off_t)writing->header.file_size) < 0 ? errno : 0;
	if (failure)
		return failure;
	writing->failure = 0;
	parallel_run(write_section, writing, INDEX_SECTION_COUNT);
	if (writing->failure)
		return writing->failure;
	writing->header.checksum = index_file_header_checksum(&writing->header);
	return write_at(writing->fd, &writing->header, sizeof(writing->header), 0);
}

/* Gives the file, which may have no name, an unused name. */
static int name_file(int fd, const char *temporary)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}

/* Opens the new file: without a name until it is complete, if the file system knows such files. */
static int open_file(const char *path, const char *temporary, bool *named)
{
	auto_free char *folder = strdup(path);
	int fd = -1;

	*named = false;
	if (folder) {
		strrchr(folder, '/')[folder[1] && strrchr(folder, '/') == folder] = 0;
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd >= 0)
		return fd;
	*named = true;
	return open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Writes the file at path. Returns 0 or an errno; on failure nothing is left behind. */
static int write_as(struct writing *writing, const char *path)
{
	static atomic_uint number;
	auto_free char *temporary = NULL;
	bool named;
	int failure;

	if (asprintf(&temporary, "%s.%d-%u", path, (int)getpid(), number++) < 0) {
		temporary = NULL;
		return ENOMEM;
	}
	writing->fd = open_file(path, temporary, &named);
	if (writing->fd < 0)
		return errno;
	failure = write_file(writing);
	if (!failure && !named) {
		failure = name_file(writing->fd, temporary);
		named = !failure;
	}
	if (!failure && rename(temporary, path) < 0)
		failure = errno;
	if (failure && named)
		unlink(temporary);
	close(writing->fd);
	return failure;
}

/*
 * Writes the file beside the recording, else into the cache folder. The error is about the first
 * place.
 */
static struct err *write_somewhere(struct writing *writing, const struct recording *recording,
				   char **ret)
{
	auto_free char *beside = index_file_beside(recording), *cached = NULL;
	int failure = beside ? write_as(writing, beside) : ENOMEM;

	if (!failure) {
		*ret = steal(&beside);
		return NULL;
	}
	cached = index_file_cached(recording, true);
	if (!cached || write_as(writing, cached))
		return err_create_errno(failure, "cannot write the index file '%s'",
					beside ? beside : recording->facts.path);
	*ret = steal(&cached);
	return NULL;
}

struct err *index_file_write(const struct recording *recording, char **ret)
{
	cleanup(buf_deinit) struct buf sums = {0}, errors = {0};
	struct writing writing;
	struct err *err;

	*ret = NULL;
	if (!recording->tables->modified || !recording->blocks->store.wanted ||
	    recording->facts.writing || recording->facts.damaged_chunks)
		return NULL;
	buf_init(&sums);
	buf_init(&errors);
	err = set_sections(&writing, recording, &sums, &errors);
	return err ? err : write_somewhere(&writing, recording, ret);
}
