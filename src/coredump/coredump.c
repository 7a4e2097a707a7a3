#include "coredump/coredump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "coredump/core_image.h"
#include "coredump/core_table.h"
#include "coredump/turned.h"
#include "hosted/cleanup.h"
#include "hosted/files/decompressed.h"
#include "trace/byte_order.h"
#include "trace/chunk_check.h"
#include "trace/live.h"

#define HEAD 64

struct coredump {
	const char *name;
	int fd; /* of a file that was decompressed; -1: none */
	struct core_image image;
	struct core_table table;
	struct byte_source source;
	uint8_t *turned; /* the whole table, if it was big-endian; owned */
	struct coredump_facts facts;
};

void coredump_close(struct coredump *coredump)
{
	if (!coredump)
		return;
	core_image_deinit(&coredump->image);
	core_table_deinit(&coredump->table);
	free(coredump->turned);
	if (coredump->fd >= 0)
		close(coredump->fd);
	free(coredump);
}
CLEANUP_DEFINE(struct coredump *, coredump_close);

const struct byte_source *coredump_table(const struct coredump *coredump)
{
	return &coredump->source;
}

const struct coredump_facts *coredump_facts(const struct coredump *coredump)
{
	return &coredump->facts;
}

struct err *coredump_is(const char *name, int fd, bool *ret)
{
	const struct byte_source file = {.name = name, .fd = fd};
	uint8_t head[HEAD];
	size_t got;
	struct err *err = byte_source_read(&file, 0, head, sizeof(head), &got);

	if (!err)
		*ret = core_image_is_elf(head, got) ||
		       decompressed_kind(head, got) != DECOMPRESSED_NONE;
	return err;
}

static struct coredump *create_empty(const char *name)
{
	struct coredump *coredump = calloc(1, sizeof(*coredump));

	if (coredump) {
		coredump->name = name;
		coredump->fd = -1;
	}
	return coredump;
}

/* Makes the source of the table that was found. */
static struct err *settle(struct coredump *coredump)
{
	const struct core_table *table = &coredump->table;
	struct byte_source found;
	struct err *err;
	bool big;

	if (table->size <= TRACE_PAGE)
		return err_create("%s: of the table of live blocks only the first page is in it",
				  coredump->name);
	found = byte_source_pieces(coredump->name, table->pieces.items, table->pieces.count,
				   table->size);
	coredump->source = found;
	coredump->facts.pid = coredump->image.pid;
	coredump->facts.signal = coredump->image.signal;
	coredump->facts.missing = table->missing;
	coredump->facts.cut = coredump->image.cut;
	err = turned_is_needed(&found, &big);
	return err || !big ? err : turned_read(&found, &coredump->turned, &coredump->source);
}

/* Whether the file is a recording of events by that process. */
static bool is_recording(const char *path, uint32_t pid)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t data[BYTE_ORDER_HEADER];
	struct trace_header header;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, data, sizeof(data), 0) != (ssize_t)sizeof(data))
		return false;
	byte_order_turn_header(data);
	return header_check(data, sizeof(data), &header) == HEADER_VALID &&
	       !(header.flags & TRACE_LIVE) && (!pid || header.pid == pid);
}

/*
 * The recording that the process was writing: it had the file's first page mapped. NULL: none was
 * found.
 */
static const char *find_recording(const struct core_image *image)
{
	for (size_t i = 0; i < image->mappings.count; i++) {
		const struct core_mapping *mapping = &image->mappings.items[i];

		if (!mapping->offset && mapping->path[0] == '/' &&
		    is_recording(mapping->path, image->pid))
			return mapping->path;
	}
	return NULL;
}

/* What to do about a table whose pages are not in the dump. */
static struct err *say_left_out(const struct coredump *coredump)
{
	if (coredump->image.cut)
		return err_create(
			"%s: the core dump is cut short by %" PRIu64
			" bytes, and the first page of the table of live blocks is in what "
			"is missing",
			coredump->name, coredump->image.cut);
	return err_create("%s: the table of live blocks was not dumped: bit 1 of the process's "
			  "coredump_filter, anonymous shared memory, was not set (the usual 0x33 "
			  "has it)",
			  coredump->name);
}

static struct err *say_no_table(const struct coredump *coredump)
{
	return err_create("%s: no table of live blocks in it%s: run the program under 'mallow "
			  "live', or with MALLOW_MODE=live and libmallow.so preloaded",
			  coredump->name,
			  coredump->image.cut ? ", as far as it goes (it is cut short)" : "");
}

static struct err *find_by_chunks(struct coredump *coredump, bool raw)
{
	cleanup(core_scan_deinit) struct core_scan scan = {0};
	struct err *err = core_scan_read(coredump->name, &coredump->image, &scan);

	if (!err)
		err = core_table_by_chunks(&coredump->image, &scan, raw, &coredump->table,
					   &coredump->facts.owner);
	return err;
}

static struct err *find_table(struct coredump *coredump, char **recording)
{
	struct err *err =
		core_table_by_mappings(&coredump->image, &coredump->table, &coredump->facts.owner);
	const char *path;
	bool made;

	if (err || coredump->table.has_header)
		return err;
	if (coredump->table.extents.count) {
		err = core_table_make_header(coredump->name, &coredump->table, &made);
		return err || made ? err : say_left_out(coredump);
	}
	path = find_recording(&coredump->image);
	if (path) {
		*recording = strdup(path);
		return *recording ? NULL : err_no_memory();
	}
	err = find_by_chunks(coredump, false);
	if (!err && !coredump->table.has_header)
		err = say_no_table(coredump);
	return err;
}

struct err *coredump_open(const char *name, int fd, struct coredump **ret, char **recording)
{
	cleanup(coredump_close_at) struct coredump *coredump = create_empty(name);
	enum decompressed_kind kind;
	uint8_t head[HEAD];
	ssize_t got;
	struct err *err;
	bool whole;

	*recording = NULL;
	if (!coredump)
		return err_no_memory();
	got = pread(fd, head, sizeof(head), 0);
	if (got < 0)
		return err_create_errno(errno, "%s", name);
	kind = decompressed_kind(head, (size_t)got);
	err = decompressed_open(name, fd, &coredump->fd, &whole);
	if (err)
		return err;
	if (coredump->fd >= 0)
		fd = coredump->fd;
	got = pread(fd, head, sizeof(head), 0);
	if (got < 0 || !core_image_is_elf(head, (size_t)got))
		return err_create("'%s' is no recording: it is %s data with no core dump "
				  "or known profile in it%s",
				  name, decompressed_name(kind),
				  whole ? "" : ", and is cut short or damaged");
	err = core_image_read_elf(name, fd, &coredump->image);
	if (!err)
		err = find_table(coredump, recording);
	if (!err && !*recording)
		err = settle(coredump);
	if (err)
		return err;
	*ret = *recording ? NULL : steal(&coredump);
	return NULL;
}

static struct err *add_raw(struct core_image *image, const char *name, int fd)
{
	struct core_segment segment = {.fd = fd};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_create_errno(errno, "%s", name);
	segment.size = segment.held = (uint64_t)status.st_size;
	if (!segment.size)
		return NULL;
	return vec_push(&image->segments, segment) ? NULL : err_no_memory();
}

struct err *coredump_open_raw(const char *const *names, const int *fds, size_t count,
			      struct coredump **ret)
{
	cleanup(coredump_close_at) struct coredump *coredump = create_empty(names[0]);
	struct err *err = NULL;

	if (!coredump)
		return err_no_memory();
	coredump->facts.raw = true;
	for (size_t i = 0; !err && i < count; i++)
		err = add_raw(&coredump->image, names[i], fds[i]);
	if (!err)
		err = find_by_chunks(coredump, true);
	if (!err && !coredump->table.has_header)
		err = err_create("%s: no table of live blocks in it: no page begins as one does "
				 "(89 4d 4c 57 0d 0a 1a 0a)",
				 names[0]);
	if (!err)
		err = settle(coredump);
	if (!err)
		*ret = steal(&coredump);
	return err;
}
