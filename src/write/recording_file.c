#include "write/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "trace/chunk_check.h"
#include "write/sealed_chunk.h"

#define SLOT_SIZE                                                                                  \
	((uint32_t)((sizeof(struct trace_chunk) + RECORD_STREAM_CHUNK + TRACE_TRAILER_SIZE +       \
		     TRACE_PAGE - 1) /                                                             \
		    TRACE_PAGE * TRACE_PAGE))
#define NAMES_MAX  10000 /* how many names are tried */
#define FIELDS_MAX 16

/* A stream, and the slot that it fills. */
struct slot {
	struct record_stream stream;
	uint64_t offset;  /* of the slot in the file */
	size_t committed; /* bytes of the payload that are in the file */
};

struct recording_file {
	char *path;
	int fd;
	uint64_t end; /* where the next slot begins */
	struct trace_header header;
	VEC(struct slot *) slots;
	struct buf sealed;   /* where a stream puts its sealed chunk */
	struct err *failure; /* not returned yet */
	bool failed;         /* nothing is written any more */
	uint64_t unwritten;  /* events that are not committed yet, or were not recorded any more */
};

CLEANUP_DEFINE(struct recording_file *, recording_file_close);

static void fail(struct recording_file *file, struct err *err)
{
	if (file->failed)
		err_destroy(err);
	else
		file->failure = err;
	file->failed = true;
}

static void write_at(struct recording_file *file, uint64_t offset, const void *data, size_t size)
{
	const uint8_t *rest = data;

	while (size && !file->failed) {
		ssize_t wrote = pwrite(file->fd, rest, size, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			fail(file, err_create_errno(wrote ? errno : ENOSPC, "cannot write '%s'",
						    file->path));
			return;
		}
		rest += wrote;
		offset += (uint64_t)wrote;
		size -= (size_t)wrote;
	}
}

/* Whether path is there, and is no file: a device, a FIFO, a directory. */
static bool is_no_file(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

/* Creates path, or the first path.N that is not there. */
static struct err *create_file(const char *path, char **ret, int *fd)
{
	if (is_no_file(path))
		return err_create("cannot write '%s': it is no regular file", path);
	for (int n = 0; n < NAMES_MAX; n++) {
		auto_free char *name = NULL;

		if ((n ? asprintf(&name, "%s.%d", path, n) : asprintf(&name, "%s", path)) < 0) {
			name = NULL;
			return err_no_memory();
		}
		*fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (*fd >= 0) {
			*ret = steal(&name);
			return NULL;
		}
		if (errno != EEXIST)
			break;
	}
	return err_create_errno(errno, "cannot write '%s'", path);
}

/* Writes the header of a file that was just made. */
static struct err *begin_file(struct recording_file *file, const struct trace_header *header,
			      const struct trace_attacher *attacher)
{
	static const uint8_t page[TRACE_PAGE];

	file->header = *header;
	file->header.magic = TRACE_MAGIC;
	file->header.version_major = TRACE_VERSION_MAJOR;
	file->header.version_minor = TRACE_VERSION_MINOR;
	file->header.header_size = TRACE_PAGE;
	file->header.clock = TRACE_CLOCK_MONOTONIC_NS;
	if (getrandom(file->header.id, sizeof(file->header.id), 0) != sizeof(file->header.id))
		return err_create_errno(errno, "no random number");
	file->end = TRACE_PAGE;
	// Last the magic: without it, it is no recording yet.
	write_at(file, 0, page, sizeof(page));
	if (attacher)
		write_at(file, TRACE_ATTACHER_OFFSET, attacher, sizeof(*attacher));
	write_at(file, 8, (const uint8_t *)&file->header + 8, sizeof(file->header) - 8);
	write_at(file, 0, &file->header.magic, 8);
	return steal(&file->failure);
}

static struct recording_file *allocate(int fd)
{
	struct recording_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = fd;
	buf_init(&file->sealed);
	return file;
}

struct err *recording_file_create(const char *path, const struct trace_header *header,
				  const struct trace_attacher *attacher,
				  struct recording_file **ret)
{
	cleanup(recording_file_close_at) struct recording_file *file = allocate(-1);
	struct err *err = file ? create_file(path, &file->path, &file->fd) : err_no_memory();

	if (!err)
		err = begin_file(file, header, attacher);
	if (err)
		return err;
	*ret = steal(&file);
	return NULL;
}

struct err *recording_file_adopt(int fd, const struct trace_header *header,
				 const struct trace_attacher *attacher, struct recording_file **ret)
{
	cleanup(recording_file_close_at) struct recording_file *file = allocate(fd);
	struct err *err = NULL;

	if (!file) {
		close(fd);
		return err_no_memory();
	}
	file->path = strdup("the recording");
	err = file->path ? begin_file(file, header, attacher) : err_no_memory();
	if (err)
		return err;
	*ret = steal(&file);
	return NULL;
}

void recording_file_close(struct recording_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->slots.count; i++) {
		record_stream_deinit(&file->slots.items[i]->stream);
		free(file->slots.items[i]);
	}
	vec_deinit(&file->slots);
	buf_deinit(&file->sealed);
	err_destroy(file->failure);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

const char *recording_file_path(const struct recording_file *file)
{
	return file->path;
}

/* Puts an empty slot at the end of the file. */
static void open_slot(struct recording_file *file, struct slot *slot, uint64_t ticks)
{
	struct trace_chunk header;

	record_stream_begin(&slot->stream, ticks, ticks);
	header = slot->stream.header;
	header.magic = TRACE_CHUNK_MAGIC;
	header.kind = TRACE_CHUNK_EVENTS;
	header.size = SLOT_SIZE;
	header.flags = TRACE_CHUNK_SLOT;
	slot->offset = file->end;
	slot->committed = 0;
	file->end += SLOT_SIZE;
	// A chunk that ends behind the file would count as cut.
	if (!file->failed && ftruncate(file->fd, (off_t)file->end) < 0)
		fail(file, err_create_errno(errno, "cannot write '%s'", file->path));
	write_at(file, slot->offset + 8, (const uint8_t *)&header + 8, sizeof(header) - 8);
	write_at(file, slot->offset, &header.magic, 8);
}

uint32_t recording_file_add_stream(struct recording_file *file, uint64_t ticks)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	uint32_t number = (uint32_t)file->slots.count;

	if (!slot || !vec_push(&file->slots, slot)) {
		free(slot);
		fail(file, err_no_memory());
		return 0;
	}
	record_stream_init(&slot->stream, &file->sealed, number,
			   (enum trace_allocator)file->header.allocator);
	open_slot(file, slot, ticks);
	return number;
}

/* First the payload, then the word that says how much of it there is. */
static void commit(struct recording_file *file, struct slot *slot)
{
	const struct buf *payload = &slot->stream.payload;
	uint64_t word;

	if (payload->failure)
		fail(file, err_no_memory());
	if (payload->size == slot->committed || file->failed)
		return;
	write_at(file, slot->offset + sizeof(struct trace_chunk) + slot->committed,
		 payload->data + slot->committed, payload->size - slot->committed);
	word = trace_commit_word(chunk_sequence(&slot->stream.header), (uint32_t)payload->size);
	write_at(file, slot->offset + offsetof(struct trace_chunk, commit), &word, sizeof(word));
	slot->committed = payload->size;
}

static struct slot *slot_of(struct recording_file *file, uint32_t stream)
{
	return stream < file->slots.count && !file->failed ? file->slots.items[stream] : NULL;
}

/* Seals the slot where it stands, and opens the next one. */
static void roll(struct recording_file *file, struct slot *slot, uint64_t ticks)
{
	commit(file, file->slots.items[0]);
	commit(file, slot);
	file->sealed.size = 0;
	record_stream_seal(&slot->stream);
	if (file->sealed.failure)
		fail(file, err_no_memory());
	// The header last: until then it is a slot, whose trailer means nothing.
	if (!file->failed) {
		write_at(file, slot->offset + sizeof(struct trace_chunk),
			 file->sealed.data + sizeof(struct trace_chunk),
			 file->sealed.size - sizeof(struct trace_chunk));
		write_at(file, slot->offset, file->sealed.data, sizeof(struct trace_chunk));
	}
	open_slot(file, slot, ticks);
}

void recording_file_event(struct recording_file *file, uint32_t stream,
			  const struct trace_event *event, const struct record_frame *stack,
			  uint32_t frames)
{
	struct slot *slot = slot_of(file, stream);

	file->unwritten++;
	if (!slot)
		return;
	if (record_stream_is_full(&slot->stream, frames))
		roll(file, slot, event->ticks);
	record_stream_event(&slot->stream, event, stack, frames);
}

void recording_file_fact(struct recording_file *file, uint32_t stream,
			 const struct recording_fact *fact)
{
	struct slot *slot = slot_of(file, stream);
	uint64_t fields[FIELDS_MAX];
	size_t count = 0;

	if (!slot)
		return;
	if (record_stream_is_full_for(&slot->stream, FIELDS_MAX,
				      fact->size + TRACE_EVENT_MAX(fact->frames)))
		roll(file, slot, fact->has_time ? fact->ticks : slot->stream.encoder.time);
	if (fact->stack)
		record_stream_stack(&slot->stream, fact->stack, fact->frames);
	if (fact->has_time)
		fields[count++] = zigzag((int64_t)(fact->ticks - slot->stream.header.base_ticks));
	for (size_t i = 0; i < fact->count && count < FIELDS_MAX; i++)
		fields[count++] = fact->fields[i];
	record_stream_fact(&slot->stream, fact->kind, fields, count, fact->text, fact->size);
}

void recording_file_add_chunk(struct recording_file *file, enum trace_chunk_kind kind,
			      const void *data, size_t size)
{
	static const uint8_t storage = TRACE_STORAGE_RAW;
	const struct trace_chunk like = {.stream = TRACE_NO_STREAM};

	file->sealed.size = 0;
	sealed_chunk_put(&file->sealed, kind, &like, &storage, sizeof(storage), data, size);
	if (file->sealed.failure)
		fail(file, err_no_memory());
	else
		write_at(file, file->end, file->sealed.data, file->sealed.size);
	file->end += file->sealed.size;
}

void recording_file_amend(struct recording_file *file, const struct trace_header *header)
{
	file->header.pid = header->pid;
	file->header.flags = header->flags;
	file->header.start_realtime_ns = header->start_realtime_ns;
	write_at(file, 8, (const uint8_t *)&file->header + 8, sizeof(file->header) - 8);
}

struct err *recording_file_flush(struct recording_file *file,
				 const uint64_t losses[TRACE_LOSS_COUNTERS])
{
	for (size_t i = 0; i < file->slots.count; i++)
		commit(file, file->slots.items[i]);
	if (memcmp(losses, file->header.losses, sizeof(file->header.losses)) != 0) {
		memcpy(file->header.losses, losses, sizeof(file->header.losses));
		write_at(file, offsetof(struct trace_header, losses), file->header.losses,
			 sizeof(file->header.losses));
	}
	if (!file->failed)
		file->unwritten = 0;
	return steal(&file->failure);
}

/* Writes how it ended where that has its place from the start. */
static void put_end(struct recording_file *file, enum trace_end reason, uint32_t status)
{
	uint32_t streams = (uint32_t)file->slots.count;

	file->header.end_reason = reason;
	file->header.end_status = status;
	file->header.state = TRACE_STATE_ENDED;
	write_at(file, TRACE_STREAMS_OFFSET, &streams, sizeof(streams));
	write_at(file, offsetof(struct trace_header, end_reason), &file->header.end_reason, 8);
	write_at(file, offsetof(struct trace_header, state), &file->header.state, 4);
	close(file->fd);
	file->fd = -1;
}

void recording_file_stop(struct recording_file *file)
{
	if (file->fd < 0)
		return;
	file->header.losses[TRACE_LOSS_WRITE_FAILED] += file->unwritten ? file->unwritten : 1;
	file->failed = false;
	write_at(file, offsetof(struct trace_header, losses), file->header.losses,
		 sizeof(file->header.losses));
	put_end(file, TRACE_END_STOPPED, 0);
	file->failed = true;
}

struct err *recording_file_end(struct recording_file *file, uint64_t ticks, enum trace_end reason,
			       uint32_t status)
{
	const uint64_t fields[] = {ticks, reason, status};
	const struct recording_fact fact = {
		.kind = TRACE_RECORD_END,
		.has_time = true,
		.ticks = ticks,
		.fields = fields,
		.count = 3,
	};
	struct err *err;

	recording_file_fact(file, 0, &fact);
	err = recording_file_flush(file, file->header.losses);
	if (err || file->failed)
		return err;
	put_end(file, reason, status);
	return steal(&file->failure);
}
