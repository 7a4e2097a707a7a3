#include "hosted/files/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"

static bool refuses_links;

void byte_source_refuse_links(void)
{
	refuses_links = true;
}

/* Follows a link if it is ours or root's. Looks at the link that is open, which nobody changes. */
static struct err *open_link(const char *name, int flags, int *ret)
{
	auto_close int link = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX], path[PATH_MAX];
	struct stat status;
	ssize_t length;
	const char *slash = strrchr(name, '/');

	if (link < 0 || fstat(link, &status) < 0 ||
	    (length = readlinkat(link, "", target, sizeof(target) - 1)) < 0)
		return err_create_errno(errno, "%s", name);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return err_create("%s: it is a symbolic link of another user (uid %u), who would "
				  "choose what is shown: give the file itself",
				  name, (unsigned int)status.st_uid);
	target[length] = '\0';
	if (snprintf(path, sizeof(path), "%.*s%s",
		     *target == '/' || !slash ? 0 : (int)(slash - name) + 1, name,
		     target) >= (int)sizeof(path))
		return err_create("%s: its link is too long", name);
	*ret = open(path, flags);
	return *ret < 0 ? err_create_errno(errno, "%s", name) : NULL;
}

struct err *byte_source_open(const char *name, struct byte_source *ret)
{
	// O_NONBLOCK: open() must not wait for a FIFO's writer. A FIFO is refused below.
	// The links below /proc are the kernel's.
	const bool refuses = refuses_links && strncmp(name, "/proc/", 6) != 0;
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (refuses ? O_NOFOLLOW : 0);
	int fd = open(name, flags);
	struct err *err = NULL;

	if (fd < 0 && errno == ELOOP && refuses)
		err = open_link(name, flags, &fd);
	else if (fd < 0)
		err = err_create_errno(errno, "%s", name);
	return err ? err : byte_source_take(name, fd, ret);
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

struct byte_source byte_source_pieces(const char *name, const struct byte_piece *pieces,
				      size_t count, uint64_t size)
{
	return (struct byte_source){
		.name = name, .pieces = pieces, .piece_count = count, .size = size, .fd = -1};
}

/* Whether its bytes are not those of one file. */
static bool is_pieces(const struct byte_source *source)
{
	return !source->data && source->fd < 0; // perhaps there are none
}

static bool has_no_file(const struct byte_source *source)
{
	return source->data || source->fd < 0;
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

	if (has_no_file(source)) {
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

	if (has_no_file(source) || fstat(source->fd, &status) < 0)
		return 0;
	return (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
}

uint32_t byte_source_owner(const struct byte_source *source)
{
	struct stat status;

	return source->fd < 0 || fstat(source->fd, &status) < 0 ? UINT32_MAX : status.st_uid;
}

static uint64_t sum_of_pieces(const struct byte_source *source)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < source->piece_count; i++)
		sum += source->pieces[i].size;
	return sum;
}

uint64_t byte_source_taken(const struct byte_source *source)
{
	struct stat status;

	if (is_pieces(source))
		return sum_of_pieces(source);
	if (has_no_file(source) || fstat(source->fd, &status) < 0)
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

static struct err *read_file(const char *name, int fd, uint64_t offset, void *buffer, size_t size,
			     size_t *ret)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_create_errno(errno, "%s: cannot read at offset %" PRIu64, name,
						offset + done);
		if (!got)
			break;
		done += (size_t)got;
	}
	*ret = done;
	return NULL;
}

/* Index of the first piece that ends behind offset. */
static size_t find_piece(const struct byte_source *source, uint64_t offset)
{
	const struct byte_piece *pieces = source->pieces;

	return first_where(i, 0, source->piece_count, pieces[i].at + pieces[i].size > offset);
}

/* A file's next byte that lies in no hole. UINT64_MAX: there is none. */
static uint64_t next_in_file(int fd, uint64_t offset)
{
	off_t next = lseek(fd, (off_t)offset, SEEK_DATA);

	if (next >= 0)
		return (uint64_t)next;
	if (errno == ENXIO || offset > INT64_MAX)
		return UINT64_MAX;
	return offset; // the file system cannot tell
}

/* The same of pieces, whose files may end before they do. */
static uint64_t next_in_pieces(const struct byte_source *source, uint64_t offset)
{
	for (size_t i = find_piece(source, offset); i < source->piece_count; i++) {
		const struct byte_piece *piece = &source->pieces[i];
		uint64_t skipped = offset > piece->at ? offset - piece->at : 0;
		uint64_t next = next_in_file(piece->fd, piece->from + skipped);

		if (next < piece->from + piece->size)
			return piece->at + (next - piece->from);
	}
	return source->size;
}

uint64_t byte_source_next(const struct byte_source *source, uint64_t offset)
{
	uint64_t next, size = source->size;
	struct stat status;

	if (source->data)
		return offset;
	if (is_pieces(source))
		return next_in_pieces(source, offset);
	next = next_in_file(source->fd, offset);
	if (next != UINT64_MAX)
		return next;
	if (fstat(source->fd, &status) == 0)
		size = (uint64_t)status.st_size;
	return size > offset ? size : offset;
}

uint64_t byte_source_next_unit(const struct byte_source *source, uint64_t offset, uint64_t unit)
{
	uint64_t next = byte_source_next(source, offset) & ~(unit - 1);

	return next > offset ? next : offset;
}

static struct err *read_pieces(const struct byte_source *source, uint64_t offset, uint8_t *buffer,
			       size_t size, size_t *ret)
{
	uint64_t end;
	struct err *err = NULL;

	*ret = 0;
	if (offset >= source->size)
		return NULL;
	if (size > source->size - offset)
		size = (size_t)(source->size - offset);
	end = offset + size;
	memset(buffer, 0, size);
	for (size_t i = find_piece(source, offset); !err && i < source->piece_count; i++) {
		const struct byte_piece *piece = &source->pieces[i];
		uint64_t from = piece->at > offset ? piece->at : offset;
		uint64_t to = piece->at + piece->size < end ? piece->at + piece->size : end;
		size_t got;

		if (from >= to)
			break;
		err = read_file(source->name, piece->fd, piece->from + (from - piece->at),
				buffer + (from - offset), (size_t)(to - from), &got);
	}
	if (!err)
		*ret = size;
	return err;
}

struct err *byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
			     size_t size, size_t *ret)
{
	if (source->data) {
		*ret = read_memory(source, offset, buffer, size);
		return NULL;
	}
	if (is_pieces(source))
		return read_pieces(source, offset, buffer, size, ret);
	return read_file(source->name, source->fd, offset, buffer, size, ret);
}
