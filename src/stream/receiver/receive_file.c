#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/files/byte_source.h"
#include "hosted/files/file_lock.h"
#include "stream/link/foreign_text.h"
#include "stream/receiver/gather_data.h"
#include "trace/chunk_check.h"

#define NAME_TRIES 1000
#define WRITE_BACK (8u << 20) /* bytes after which the disk is to begin */

static void set_refusal(struct receive_refusal *refusal, enum message_refusal reason,
			const char *text)
{
	refusal->reason = reason;
	snprintf(refusal->text, sizeof(refusal->text), "%s", text);
}

/* The system refuses something. That may end, as when somebody makes room on the disk. */
static void refuse_errno(struct receive_refusal *refusal, int number, const char *what)
{
	char text[sizeof(refusal->text)];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(number));
	set_refusal(refusal, MESSAGE_LATER, text);
}

/* The program's name, as it can be a part of a file's name. */
static void copy_name(const uint8_t *name, uint32_t size, char ret[NAME_SHOWN + 1])
{
	foreign_text(name, size, '_', ret, NAME_SHOWN + 1);
	for (char *c = ret; *c; c++)
		if (*c == '/')
			*c = '_';
	if (!*ret)
		snprintf(ret, NAME_SHOWN + 1, "program");
}

/* 20261126_101500_4711_server.mallow: when the program's recording began, in UTC. */
static void make_name(const struct trace_header *header, const char *program, int number,
		      char ret[INCOMING_NAME_MAX])
{
	time_t start = (time_t)(header->start_realtime_ns / 1000000000);
	char time[32] = "00000000_000000", suffix[16] = "";
	struct tm parts;

	if (gmtime_r(&start, &parts))
		strftime(time, sizeof(time), "%Y%m%d_%H%M%S", &parts);
	if (number)
		snprintf(suffix, sizeof(suffix), ".%d", number);
	snprintf(ret, INCOMING_NAME_MAX, "%s_%" PRIu32 "_%s.mallow%s", time, header->pid, program,
		 suffix);
}

/* Whether the page begins a recording that can be received. */
static bool is_acceptable(const struct message *offer, struct trace_header *header,
			  struct receive_refusal *refusal)
{
	switch (header_check(offer->offer.page, TRACE_PAGE, header)) {
	case HEADER_VALID:
		break;
	case HEADER_NEWER:
		set_refusal(refusal, MESSAGE_IMPOSSIBLE,
			    "its format is newer than this receiver: update mallow here");
		return false;
	default:
		set_refusal(refusal, MESSAGE_IMPOSSIBLE, "it is not a recording");
		return false;
	}
	if (header->header_size == TRACE_PAGE && !(header->flags & TRACE_FINISHED))
		return true;
	set_refusal(refusal, MESSAGE_IMPOSSIBLE, "it is not a recording that is being written");
	return false;
}

static bool is_shortage(int number)
{
	return number == EMFILE || number == ENFILE || number == ENOMEM || number == EIO;
}

/*
 * Opens a file of the directory if it is the recording with that id. Returns -1 if not, or below
 * that the negative errno if that cannot be told now. finished: nothing can be added to it any
 * more.
 */
static int open_same(int directory, const char *name, const uint8_t id[16], bool *finished)
{
	auto_close int fd =
		openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct trace_header header;
	struct stat status;
	int good;

	if (fd < 0 && is_shortage(errno))
		return -1 - errno;
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.magic != TRACE_MAGIC || memcmp(header.id, id, sizeof(header.id)) != 0)
		return -1;
	*finished = header.flags & TRACE_FINISHED;
	good = fd;
	fd = -1;
	return good;
}

/* As open_same(), of all files of the directory: one that has this recording, or a part of it. */
static int find_same(int directory, const uint8_t id[16], char name[INCOMING_NAME_MAX],
		     bool *finished)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	int found = -1;

	if (!list) {
		int number = errno;

		if (copy >= 0)
			close(copy);
		return -1 - number;
	}
	for (struct dirent *entry; found == -1 && (entry = readdir(list)) != NULL;) {
		if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
			continue;
		if (strlen(entry->d_name) >= INCOMING_NAME_MAX || !strstr(entry->d_name, ".mallow"))
			continue;
		found = open_same(directory, entry->d_name, id, finished);
		if (found >= 0)
			snprintf(name, INCOMING_NAME_MAX, "%s", entry->d_name);
	}
	closedir(list);
	return found;
}

/*
 * Writes all of it; the first page last, so that a chunk that begins in the file is whole, whenever
 * we are killed. Returns 0 or an errno.
 */
static int write_all(int fd, uint64_t offset, const uint8_t *data, size_t size)
{
	while (size) {
		size_t skip = size > TRACE_PAGE ? TRACE_PAGE : 0;
		ssize_t written = pwrite(fd, data + skip, size - skip, (off_t)(offset + skip));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : EIO;
		if ((size_t)written < size - skip) {
			// The rest, before the first page.
			int number =
				write_all(fd, offset + skip + (size_t)written,
					  data + skip + written, size - skip - (size_t)written);

			if (number)
				return number;
		}
		size = skip;
	}
	return 0;
}

/* As long as not all has come, it has not ended, whatever its header says. */
static int write_first_page(int fd, const struct message *offer)
{
	uint8_t page[TRACE_PAGE];
	struct trace_header *header = (void *)page;

	memcpy(page, offer->offer.page, sizeof(page));
	header->state = TRACE_STATE_RUNNING;
	header->end_reason = TRACE_END_UNKNOWN;
	header->flags |= TRACE_FOREIGN;
	return write_all(fd, 0, page, sizeof(page));
}

static int create_new(int directory, const struct message *offer, const struct trace_header *header,
		      const char *program, char name[INCOMING_NAME_MAX],
		      struct receive_refusal *refusal)
{
	int fd = -1, number;

	for (int i = 0; fd < 0 && i < NAME_TRIES; i++) {
		make_name(header, program, i, name);
		fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		refuse_errno(refusal, errno, "the receiver cannot create a file");
		return -1;
	}
	number = write_first_page(fd, offer);
	if (!number && file_lock_take(fd))
		return fd;
	unlinkat(directory, name, 0);
	close(fd);
	refuse_errno(refusal, number ? number : ENOLCK, "the receiver cannot write");
	return -1;
}

/* Whether the recording is here, or on its way here from somewhere else. */
static bool is_known_locked(const struct gather *gather, const uint8_t id[16],
			    struct receive_refusal *refusal)
{
	for (size_t i = 0; i < gather->arriving.count; i++)
		if (memcmp(gather->arriving.items[i]->id, id, 16) == 0) {
			set_refusal(refusal, MESSAGE_TAKEN, "another sender is sending it");
			return true;
		}
	for (size_t i = 0; i < gather->done_count && i < GATHER_DONE_MAX; i++)
		if (memcmp(gather->done[i].bytes, id, 16) == 0) {
			set_refusal(refusal, MESSAGE_COMPLETE, "it is here already");
			return true;
		}
	return false;
}

/* Opens the file. -1: refused. */
static int open_file(struct gather *gather, const struct message *offer,
		     const struct trace_header *header, struct incoming *incoming,
		     struct receive_refusal *refusal)
{
	bool finished = false;
	int fd = find_same(gather->directory, header->id, incoming->name, &finished), number = 0;

	if (fd < -1) {
		refuse_errno(refusal, -1 - fd, "the receiver cannot look for what it has");
		return -1;
	}
	if (fd < 0)
		return create_new(gather->directory, offer, header, incoming->program,
				  incoming->name, refusal);
	if (finished)
		set_refusal(refusal, MESSAGE_COMPLETE, "it is here already");
	else if (!file_lock_take(fd))
		set_refusal(refusal, MESSAGE_TAKEN, "another 'mallow gather' receives it");
	else {
		incoming->resumed = true;
		// A live table is sent anew by each connection, and only its pages that are not
		// zero: the sender does not know which pages are here. So those of an earlier
		// connection go.
		if (header->flags & TRACE_LIVE)
			number =
				ftruncate(fd, TRACE_PAGE) < 0 ? errno : write_first_page(fd, offer);
		if (!number)
			return fd;
		refuse_errno(refusal, number, "the receiver cannot write");
	}
	close(fd);
	return -1;
}

/* The recording counts as unfinished until receive_complete(). */
static void note_begun(struct gather *gather, const uint8_t id[16])
{
	struct trace_id unfinished;
	bool known = false;

	memcpy(unfinished.bytes, id, sizeof(unfinished.bytes));
	pthread_mutex_lock(&gather->mutex);
	for (size_t i = 0; i < gather->unfinished.count; i++)
		known |= memcmp(gather->unfinished.items[i].bytes, id, 16) == 0;
	if (!known && vec_push(&gather->unfinished, unfinished))
		gather->state.unfinished++;
	pthread_mutex_unlock(&gather->mutex);
}

void receive_complete(struct gather *gather, const struct incoming *incoming)
{
	struct trace_id *id;

	pthread_mutex_lock(&gather->mutex);
	gather->state.complete++;
	id = &gather->done[gather->done_count++ % GATHER_DONE_MAX];
	memcpy(id->bytes, incoming->id, sizeof(id->bytes));
	for (size_t i = 0; i < gather->unfinished.count; i++) {
		if (memcmp(gather->unfinished.items[i].bytes, incoming->id, 16) != 0)
			continue;
		gather->unfinished.items[i] = gather->unfinished.items[--gather->unfinished.count];
		gather->state.unfinished--;
		break;
	}
	pthread_mutex_unlock(&gather->mutex);
}

struct err *receive_open(struct gather *gather, const struct message *offer, struct incoming **ret,
			 struct receive_refusal *refusal)
{
	auto_free struct incoming *incoming = calloc(1, sizeof(*incoming));
	struct trace_header header;
	bool known;

	*ret = NULL;
	if (!incoming)
		return err_no_memory();
	if (!is_acceptable(offer, &header, refusal))
		return NULL;
	memcpy(incoming->id, header.id, sizeof(incoming->id));
	incoming->pid = header.pid;
	incoming->fd = -1;
	copy_name(offer->offer.name, offer->offer.name_size, incoming->program);
	// It is in the list before its file is looked for, so that nobody else takes it.
	pthread_mutex_lock(&gather->mutex);
	known = is_known_locked(gather, header.id, refusal);
	if (!known && !vec_push(&gather->arriving, incoming)) {
		known = true;
		set_refusal(refusal, MESSAGE_LATER, "the receiver has no memory");
	}
	pthread_mutex_unlock(&gather->mutex);
	if (known)
		return NULL;
	incoming->fd = open_file(gather, offer, &header, incoming, refusal);
	if (incoming->fd >= 0) {
		note_begun(gather, incoming->id);
		*ret = incoming;
	} else
		receive_close(gather, incoming);
	incoming = NULL;
	return NULL;
}

void receive_close(struct gather *gather, struct incoming *incoming)
{
	pthread_mutex_lock(&gather->mutex);
	for (size_t i = 0; i < gather->arriving.count; i++) {
		if (gather->arriving.items[i] != incoming)
			continue;
		gather->arriving.items[i] = gather->arriving.items[--gather->arriving.count];
		break;
	}
	pthread_mutex_unlock(&gather->mutex);
	for (size_t i = 0; i < incoming->asked.count; i++)
		module_store_abandon(incoming->asked.items[i].file);
	vec_deinit(&incoming->asked);
	named_modules_destroy(incoming->modules);
	module_walk_deinit(&incoming->walk);
	if (incoming->fd >= 0)
		close(incoming->fd);
	free(incoming);
}

/* Whether the last range ends at offset. */
static bool follows(const struct message_range *ranges, size_t count, uint64_t offset)
{
	return ranges && count && ranges[count - 1].offset + ranges[count - 1].size == offset;
}

struct err *receive_have(const struct incoming *incoming, struct message_range **ret, size_t *count)
{
	struct byte_source source = {.name = incoming->name, .fd = incoming->fd};
	VEC(struct message_range) ranges = VEC_EMPTY;
	uint64_t offset = TRACE_PAGE, end;
	struct err *err = byte_source_size(&source, &end);

	while (!err && offset < end && ranges.count < MESSAGE_DATA_MAX / sizeof(*ranges.items)) {
		uint8_t raw[sizeof(struct trace_chunk)];
		struct trace_chunk header;
		const char *expected;
		bool valid;
		size_t got;

		err = byte_source_read(&source, offset, raw, sizeof(raw), &got);
		valid = !err && got == sizeof(raw) &&
			chunk_check(raw, &header, &expected) == CHUNK_VALID;
		if (valid && header.flags & TRACE_CHUNK_SEALED && header.size <= end - offset) {
			const struct message_range range = {.offset = offset, .size = header.size};

			if (follows(ranges.items, ranges.count, offset))
				ranges.items[ranges.count - 1].size += header.size;
			else if (!vec_push(&ranges, range))
				err = err_no_memory();
		}
		offset = byte_source_next_unit(&source, offset + (valid ? header.size : TRACE_PAGE),
					       TRACE_PAGE);
	}
	if (err) {
		vec_deinit(&ranges);
		return err;
	}
	*ret = ranges.items;
	*count = ranges.count;
	return NULL;
}

/* Only whole first pages come, and they must stay what the recording is known by. */
static const char *check_page(const struct incoming *incoming, const struct message *message)
{
	struct trace_header header;

	if (message->data.offset >= TRACE_PAGE)
		return NULL;
	if (message->data.offset || message->data.size != TRACE_PAGE ||
	    header_check(message->data.data, TRACE_PAGE, &header) != HEADER_VALID ||
	    memcmp(header.id, incoming->id, sizeof(header.id)) != 0 ||
	    header.header_size != TRACE_PAGE || header.flags & TRACE_FINISHED)
		return "it overwrites the recording's header";
	return NULL;
}

/* The sender's bytes, but for one flag: whoever reads the file later is to know whose word it is.
 */
static int write_part(int fd, const struct message *message)
{
	uint8_t page[TRACE_PAGE];
	struct trace_header *header = (void *)page;

	if (message->data.offset >= TRACE_PAGE)
		return write_all(fd, message->data.offset, message->data.data, message->data.size);
	memcpy(page, message->data.data, sizeof(page));
	header->flags |= TRACE_FOREIGN;
	return write_all(fd, 0, page, sizeof(page));
}

struct err *receive_write(const struct gather *gather, struct incoming *incoming,
			  const struct message *message, bool *ret, struct receive_refusal *refusal)
{
	const char *wrong = check_page(incoming, message);
	int number;

	*ret = true;
	if (!wrong && incoming->ended)
		wrong = "it writes to a recording that has ended";
	if (wrong)
		return err_create("%s: %s", incoming->name, wrong);
	if (message->data.offset > gather->options.max_size ||
	    message->data.size > gather->options.max_size - message->data.offset) {
		set_refusal(refusal, MESSAGE_IMPOSSIBLE, "it is larger than --max-size here");
		*ret = false;
		return NULL;
	}
	number = write_part(incoming->fd, message);
	incoming->bytes += message->data.size;
	if (message->data.offset + message->data.size > incoming->end)
		incoming->end = message->data.offset + message->data.size;
	if (number) {
		refuse_errno(refusal, number, "the receiver cannot write");
		*ret = false;
		return NULL;
	}
	// The disk begins now, so that little is left for fdatasync() at the end.
	if (incoming->bytes - incoming->begun_bytes > WRITE_BACK) {
		incoming->begun_bytes = incoming->bytes;
		sync_file_range(incoming->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	}
	return NULL;
}

struct err *receive_end(const struct gather *gather, struct incoming *incoming, uint64_t size,
			bool *ret, struct receive_refusal *refusal)
{
	struct stat status;

	*ret = false;
	if (size < TRACE_PAGE || size > gather->options.max_size) {
		set_refusal(refusal, MESSAGE_IMPOSSIBLE, "its size is not possible");
		return NULL;
	}
	if (fstat(incoming->fd, &status) < 0 || !status.st_nlink ||
	    (uint64_t)status.st_size < incoming->end) {
		set_refusal(refusal, MESSAGE_LATER,
			    "somebody has deleted or shortened the file that was received into");
		return NULL;
	}
	// The sender may forget it after this: it must be on the disk.
	if (ftruncate(incoming->fd, (off_t)size) < 0 || fdatasync(incoming->fd) < 0) {
		refuse_errno(refusal, errno, "the receiver cannot write");
		return NULL;
	}
	incoming->ended = true;
	*ret = true;
	return NULL;
}
