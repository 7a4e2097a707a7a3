#include "finish/finish_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/chunks/chunk_index.h"
#include "analysis/load/tick_clock.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "trace/chunk_check.h"
#include "write/record_stream.h"

/* Clocks of one machine differ by less, unless somebody sets one in between. */
#define APART_NS_MAX 2000000000

/* A recording that is added to. */
struct seen_file {
	struct byte_source source;
	struct trace_header header;
	struct chunk_index index;
	uint64_t now_ticks, now_ns; /* a pair of readings */
	struct tick_clock clock;    /* the line through that and the header's pair */
};

static void seen_file_deinit(struct seen_file *file)
{
	chunk_index_deinit(&file->index);
	byte_source_close(&file->source);
}

/* What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
static int64_t ahead(uint64_t realtime_ns, uint64_t monotonic_ns)
{
	return (int64_t)(realtime_ns - monotonic_ns);
}

/* Whether the program's clocks are ours: in a time namespace they are not. */
static bool has_our_clock(const struct trace_header *header)
{
	struct timespec now;
	int64_t apart;

	clock_gettime(CLOCK_REALTIME, &now);
	apart = ahead(header->start_realtime_ns, header->start_monotonic_ns) -
		ahead((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, now_ns());
	return apart > -APART_NS_MAX && apart < APART_NS_MAX &&
	       header->start_monotonic_ns < now_ns();
}

/* Whether all that the chunks claim is in the file. If not, what is added would lie in one. */
static bool is_whole(const struct chunk_index *index)
{
	uint64_t end = 0;

	for (size_t i = 0; i < index->chunks.count; i++)
		if (index->chunks.items[i].offset + index->chunks.items[i].header.size > end)
			end = index->chunks.items[i].offset + index->chunks.items[i].header.size;
	for (size_t i = 0; i < index->kept.count; i++)
		if (index->kept.items[i].offset + index->kept.items[i].size > end)
			end = index->kept.items[i].offset + index->kept.items[i].size;
	return end <= index->file_size;
}

/* *ret false: nothing is to be added. */
static struct err *open_file(const char *name, int fd, struct seen_file *file, bool *ret)
{
	struct trace_header *header = &file->header;
	struct damage damage = {0};
	struct err *err;
	int copy;

	*ret = false;
	if (pread(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	    header_check(header, sizeof(*header), header) != HEADER_VALID ||
	    header->flags & (TRACE_FINISHED | TRACE_LIVE | TRACE_ATTACHED | TRACE_WATCHED) ||
	    !has_our_clock(header))
		return NULL;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return err_create_errno(errno, "'%s'", name);
	err = byte_source_take(name, copy, &file->source);
	if (err)
		return err;
	file->now_ticks = tick_clock_now(header);
	file->now_ns = now_ns();
	file->clock = tick_clock_make(header, file->now_ticks, file->now_ns);
	err = chunk_index_build(&file->source, &damage, &file->index);
	*ret = !err && is_whole(&file->index);
	return err;
}

static uint64_t ticks_at(const struct seen_file *file, uint64_t monotonic_ns)
{
	return file->header.start_ticks +
	       tick_clock_span(&file->clock, monotonic_ns - file->header.start_monotonic_ns);
}

/* The records go on with the file's first stream, so that there is no thread that was none. */
static void begin_stream(struct seen_file *file, struct buf *out, struct record_stream *stream)
{
	const struct indexed_chunk *chunks = file->index.chunks.items;
	size_t count = file->index.chunks.count, last = 0;
	uint32_t number = count ? chunks[0].header.stream : 0;

	while (last + 1 < count && chunks[last + 1].header.stream == number)
		last++;
	record_stream_init(stream, out, number, file->header.allocator);
	if (count)
		stream->header.commit =
			trace_commit_word(chunk_sequence(&chunks[last].header) + 1, 0);
	record_stream_begin(stream, file->now_ticks, file->now_ns);
}

/* Writes a record that begins with its time. fields[0] is for that. */
static void put_record(const struct seen_file *file, struct record_stream *stream,
		       enum trace_record kind, uint64_t monotonic_ns, uint64_t *fields,
		       size_t count, const char *text, size_t size)
{
	if (record_stream_is_full_for(stream, count, size)) {
		record_stream_seal(stream);
		record_stream_begin(stream, file->now_ticks, file->now_ns);
	}
	fields[0] = zigzag((int64_t)(ticks_at(file, monotonic_ns) - file->now_ticks));
	record_stream_fact(stream, kind, fields, count, text, size);
}

/* started: "why\npath". */
static struct err *put_started(const struct seen_file *file, struct record_stream *stream,
			       const struct seen *seen, const char *started)
{
	uint64_t fields[] = {0, TRACE_UNSEEN_STARTED, 0};
	size_t why = strcspn(started, "\n");
	auto_free char *text = NULL;
	int size = asprintf(&text, "%s%c%.*s%c%c", started + why + 1, 0, (int)why, started, 0, 0);

	if (size < 0) {
		text = NULL;
		return err_no_memory();
	}
	put_record(file, stream, TRACE_RECORD_UNSEEN, seen->ended_ns, fields, ARRAY_COUNT(fields),
		   text, (size_t)size);
	return NULL;
}

static enum trace_end end_of(const struct seen *seen, uint32_t *status)
{
	bool killed = WIFSIGNALED(seen->wait_status);

	*status = 0;
	if (!seen->waited)
		return TRACE_END_UNKNOWN;
	*status = (uint32_t)(killed ? WTERMSIG(seen->wait_status) : WEXITSTATUS(seen->wait_status));
	return killed ? TRACE_END_SIGNAL : TRACE_END_EXIT;
}

/* Whether the program's end is the recording's. Else the agent has said how it ended. */
static bool is_end(const struct seen_file *file, const struct seen *seen)
{
	return file->header.state != TRACE_STATE_ENDED &&
	       file->header.end_reason == TRACE_END_UNKNOWN &&
	       seen->ended_ns > file->header.start_monotonic_ns;
}

static struct err *put_records(struct seen_file *file, const struct seen *seen, struct buf *out)
{
	const struct seen_sample *samples = seen->samples.items;
	struct record_stream stream;
	struct err *err = NULL;
	uint32_t status;

	begin_stream(file, out, &stream);
	for (size_t i = 0; i < seen->samples.count; i++) {
		uint64_t fields[] = {0,
				     samples[i].virtual_size,
				     samples[i].resident,
				     samples[i].anonymous,
				     samples[i].file,
				     samples[i].shared,
				     samples[i].swap};

		if (samples[i].monotonic_ns > file->header.start_monotonic_ns)
			put_record(file, &stream, TRACE_RECORD_MEMORY, samples[i].monotonic_ns,
				   fields, ARRAY_COUNT(fields), NULL, 0);
	}
	for (size_t i = 0; !err && i < seen->started_count; i++)
		err = put_started(file, &stream, seen, seen->started[i]);
	if (is_end(file, seen)) {
		uint64_t fields[] = {0, seen->ended_ns, end_of(seen, &status), 0, 1};

		fields[3] = status;
		put_record(file, &stream, TRACE_RECORD_END, seen->ended_ns, fields,
			   ARRAY_COUNT(fields), NULL, 0);
	}
	if (stream.payload.size)
		record_stream_seal(&stream);
	record_stream_deinit(&stream);
	return err ? err : buf_finish(out);
}

static struct err *put_at(int fd, const char *name, const void *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t put = pwrite(fd, data, size, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_create_errno(put ? errno : ENOSPC, "'%s'", name);
		data = (const char *)data + put;
		size -= (size_t)put;
		offset += (uint64_t)put;
	}
	return NULL;
}

/*
 * The header: how the program ended, then that the recording has ended, which goes last. It has not
 * if events may be missing that the agent would have written at the end; nor after a signal, for
 * then what was not freed is no leak.
 */
static void change_header(const struct seen_file *file, const struct seen *seen,
			  struct trace_header *header, struct trace_memory *memory)
{
	uint32_t status;
	enum trace_end reason = end_of(seen, &status);

	header->flags |= TRACE_WATCHED | (seen->foreign ? TRACE_FOREIGN : 0);
	if (header->version_minor < TRACE_VERSION_MINOR)
		header->version_minor = TRACE_VERSION_MINOR;
	if (seen->peak > memory->peak || seen->peak_source == TRACE_PEAK_WAITED) {
		memory->peak = seen->peak;
		memory->peak_source = seen->peak_source;
	}
	// The agent sees that a program with musl exits, not how.
	if (header->end_status == TRACE_STATUS_UNKNOWN && reason == TRACE_END_EXIT)
		header->end_status = status;
	if (!is_end(file, seen))
		return;
	header->end_reason = reason;
	header->end_status = status;
	if (reason == TRACE_END_EXIT && !(header->flags & TRACE_PRIVATE_SLOTS) && !header->cull_ns)
		header->state = TRACE_STATE_ENDED;
}

struct err *finish_seen(const char *name, int fd, const struct seen *seen)
{
	cleanup(seen_file_deinit) struct seen_file file = {.source.fd = -1};
	cleanup(buf_deinit) struct buf out = BUF_EMPTY;
	struct trace_memory memory = {0};
	struct trace_header header;
	struct err *err;
	bool wanted;

	if (!seen->ended_ns)
		return NULL;
	err = open_file(name, fd, &file, &wanted);
	if (err || !wanted)
		return err;
	buf_init(&out);
	header = file.header;
	if (pread(fd, &memory, sizeof(memory), TRACE_MEMORY_OFFSET) < 0)
		return err_create_errno(errno, "'%s'", name);
	change_header(&file, seen, &header, &memory);
	err = put_records(&file, seen, &out);
	if (err)
		return err;
	err = put_at(fd, name, out.data, out.size,
		     bytes_round_up(file.index.file_size, TRACE_PAGE));
	if (err && ftruncate(fd, (off_t)file.index.file_size) < 0)
		return err;
	if (!err)
		err = put_at(fd, name, &memory, sizeof(memory), TRACE_MEMORY_OFFSET);
	if (!err)
		err = put_at(fd, name, &header, sizeof(header), 0);
	return err;
}
