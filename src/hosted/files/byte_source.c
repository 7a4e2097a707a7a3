#include "hosted/files/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"

struct err *byte_source_open(const char *name, struct byte_source *ret)
{
	// O_NONBLOCK: open() must not wait for a FIFO's writer. A FIFO is refused below.
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? err_create_errno(errno, "%s", name) : byte_source_take(name, fd, ret);
}

struct err *byte_source_take(const char *name, int given, struct byte_source *ret)
{
	auto_close int fd = given;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_create_errno(errno, "%s", name);
	if (S_ISDIR(status.st_mode))
		return err_create_errno(EISDIR, "%s", name);
	if (!S_ISREG(status.st_mode))
		return err_create("%s: not a regular file", name);
	*ret = (struct byte_source){.name = name, .fd = fd};
	fd = -1;
	return NULL;
}

struct byte_source byte_source_memory(const char *name, const void *data, size_t size)
{
	return (struct byte_source){
		.name = name, .data = data ? data : (const void *)"", .size = size, .fd = -1};
}

void byte_source_close(struct byte_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

struct err *byte_source_size(const struct byte_source *source, uint64_t *ret)
{
	struct stat status;

	if (source->data) {
		*ret = source->size;
		return NULL;
	}
	if (fstat(source->fd, &status) < 0)
		return err_create_errno(errno, "%s", source->name);
	*ret = (uint64_t)status.st_size;
	return NULL;
}

uint64_t byte_source_modified(const struct byte_source *source)
{
	struct stat status;

	if (source->data || fstat(source->fd, &status) < 0)
		return 0;
	return (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
}

uint64_t byte_source_taken(const struct byte_source *source)
{
	struct stat status;

	if (source->data || fstat(source->fd, &status) < 0)
		return source->size;
	return (uint64_t)status.st_blocks * 512; // st_blocks always counts 512 bytes
}

static size_t read_memory(const struct byte_source *source, uint64_t offset, void *buffer,
			  size_t size)
{
	if (offset >= source->size)
		return 0;
	if (size > source->size - offset)
		size = source->size - offset;
	memcpy(buffer, source->data + offset, size);
	return size;
}

struct err *byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
			     size_t size, size_t *ret)
{
	size_t done = 0;

	if (source->data) {
		*ret = read_memory(source, offset, buffer, size);
		return NULL;
	}
	while (done < size) {
		ssize_t got = pread(source->fd, (char *)buffer + done, size - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_create_errno(errno, "%s: cannot read at offset %" PRIu64,
						source->name, offset + done);
		if (!got)
			break;
		done += (size_t)got;
	}
	*ret = done;
	return NULL;
}
