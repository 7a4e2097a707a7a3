#include "finish/finish.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/chunks/chunk_index.h"
#include "analysis/index/index_pack.h"
#include "analysis/names/symbols_pack.h"
#include "analysis/sight/sight.h"
#include "analysis/views/series_stored.h"
#include "base/bytes.h"
#include "coredump/turned.h"
#include "finish/finish_workers.h"
#include "hosted/cleanup.h"
#include "hosted/files/replace_file.h"
#include "hosted/zstd_frame.h"
#include "trace/chunk_check.h"
#include "write/sealed_chunk.h"
#include "write/still_written.h"

/*
 * Smaller recordings are not compressed: that would save a few pages and cost every reader a
 * decompression.
 */
#define AUTO_PAYLOAD (1u << 20)

/* zstd's level; measured in docs/adr/0004-finish-room.md. */
#define LEVEL 1

#define EXTRA_LEVEL 1 /* levels 2 and 3 make the index 4 to 8 % smaller, in four times the time */

#define COPY_STEP (1u << 20)

struct finish {
	struct byte_source file_source;
	struct byte_source source; /* the same, or what of a big-endian recording was turned */
	uint8_t *turned;
	uint8_t page[TRACE_PAGE]; /* the header's page */
	struct trace_header header;
	struct chunk_index index;
	struct finish_jobs jobs;
	uint64_t clipped_at;
	bool compressed; /* the events are to be compressed */
	struct replace_file file;
	uint64_t written;
	uint64_t done; /* bytes of payload */
	const struct finish_options *options;
};

static void finish_deinit(struct finish *finish)
{
	replace_file_deinit(&finish->file);
	finish_jobs_deinit(&finish->jobs);
	chunk_index_deinit(&finish->index);
	byte_source_close(&finish->file_source);
	free(finish->turned);
}

/* Opens the recording at path: reads its header and finds its chunks. */
static struct err *open_recording(const char *path, struct finish *finish)
{
	struct damage damage = {0};
	struct err *err;
	size_t got;
	bool big;

	err = byte_source_open(path, &finish->file_source);
	if (!err)
		err = turned_is_needed(&finish->file_source, &big);
	if (err)
		return err;
	finish->source = finish->file_source;
	if (big)
		err = turned_read(&finish->file_source, &finish->turned, &finish->source);
	if (!err)
		err = byte_source_read(&finish->source, 0, finish->page, sizeof(finish->page),
				       &got);
	if (err)
		return err;
	if (header_check(finish->page, got, &finish->header) != HEADER_VALID)
		return err_create("%s: not a recording that this mallow can read", path);
	return chunk_index_build(&finish->source, &damage, &finish->index);
}

static bool wants_compression(const struct finish *finish, enum finish_compress compress)
{
	if (compress == FINISH_COMPRESS_AUTO)
		return finish->index.payload >= AUTO_PAYLOAD;
	return compress == FINISH_COMPRESS_ALWAYS && finish->index.chunks.count;
}

static enum finish_state state_of(const struct finish *finish, enum finish_compress compress)
{
	if (still_written(finish->file_source.fd, &finish->header))
		return FINISH_LIVE;
	if (!(finish->header.flags & TRACE_FINISHED))
		return FINISH_NEEDED;
	if (compress == FINISH_COMPRESS_AUTO ||
	    wants_compression(finish, compress) == (finish->index.packs.count > 0))
		return FINISH_ALREADY;
	return FINISH_RESTORE;
}

struct err *finish_inspect(const char *path, enum finish_compress compress, enum finish_state *ret)
{
	cleanup(finish_deinit) struct finish finish = {.file_source.fd = -1, .file.fd = -1};
	struct err *err = open_recording(path, &finish);

	if (!err)
		*ret = state_of(&finish, compress);
	return err;
}

static struct err *put_bytes(struct finish *finish, const void *data, size_t size)
{
	finish->written += size;
	return replace_file_write(&finish->file, data, size);
}

static struct err *put_header(struct finish *finish)
{
	struct trace_header header = finish->header;

	header.flags |= TRACE_FINISHED;
	if (header.version_minor < TRACE_VERSION_MINOR)
		header.version_minor = TRACE_VERSION_MINOR;
	memcpy(finish->page, &header, sizeof(header));
	return put_bytes(finish, finish->page, sizeof(finish->page));
}

static struct err *put_job(void *argument, struct finish_job *job)
{
	struct finish *finish = argument;
	const struct finish_options *options = finish->options;
	struct err *err = put_bytes(finish, job->out.data, job->out.size);

	finish->done += job->payload;
	if (!err && options->progress)
		options->progress(options->argument, finish->done, 2 * finish->index.payload);
	return err;
}

/* Progress of naming frames, the second half of the work. */
static void names_progress(void *argument, uint64_t done, uint64_t total)
{
	const struct finish_options *options = argument;

	if (options->progress)
		options->progress(options->argument, total + done, 2 * total);
}

/* Copies bytes of the old file as they are. */
static struct err *put_extent(struct finish *finish, uint64_t offset, uint64_t size)
{
	auto_free uint8_t *bytes = malloc(size < COPY_STEP ? size + 1 : COPY_STEP);
	struct err *err = NULL;
	size_t got;

	if (!bytes)
		return err_no_memory();
	for (uint64_t at = 0; !err && at < size; at += got) {
		uint64_t left = size - at;

		err = byte_source_read(&finish->source, offset + at, bytes,
				       left < COPY_STEP ? left : COPY_STEP, &got);
		if (!err && !got)
			err = err_create("%s: became shorter while it was read",
					 finish->source.name);
		if (!err)
			err = put_bytes(finish, bytes, got);
	}
	return err;
}

/*
 * Copies what is no events chunk and cannot be made anew: damaged places, and chunks of kinds that
 * only later versions know. One that reaches beyond the end of the file must come last, so it is
 * left for rewrite_recording().
 */
static struct err *put_kept(struct finish *finish)
{
	const struct chunk_extent *kept = finish->index.kept.items;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < finish->index.kept.count; i++) {
		uint64_t size = kept[i].size;

		if (kept[i].offset + size > finish->index.file_size || size % TRACE_PAGE)
			finish->clipped_at = kept[i].offset;
		else
			err = put_extent(finish, kept[i].offset, size);
	}
	return err;
}

/* *ret_size 0: compressing would not save a page, and nothing is returned. */
static struct err *compress_payload(const void *data, size_t size, uint8_t **ret, size_t *ret_size)
{
	auto_free uint8_t *frame = malloc(zstd_frame_bound(size));
	struct zstd_writer *writer;
	struct err *err;
	size_t got = 0;

	if (!frame)
		return err_no_memory();
	err = zstd_writer_create(EXTRA_LEVEL, &writer);
	if (err)
		return err;
	err = zstd_writer_frame(writer, data, size, frame, zstd_frame_bound(size), &got);
	zstd_writer_destroy(writer);
	if (err)
		return err;
	*ret_size = got + TRACE_PAGE <= bytes_round_up(size, TRACE_PAGE) ? got : 0;
	*ret = steal(&frame);
	return NULL;
}

/*
 * Appends a chunk with that payload to out. It is compressed if that saves a page and compress
 * allows it.
 */
static struct err *put_extra(struct buf *out, enum trace_chunk_kind kind, const void *data,
			     size_t size, enum finish_compress compress)
{
	const struct trace_chunk like = {0};
	uint8_t storage = TRACE_STORAGE_RAW;
	auto_free uint8_t *frame = NULL;
	size_t frame_size = 0;
	struct err *err;

	if (compress != FINISH_COMPRESS_NEVER && size >= TRACE_PAGE) {
		err = compress_payload(data, size, &frame, &frame_size);
		if (err)
			return err;
	}
	if (frame_size) {
		storage = TRACE_STORAGE_ZSTD;
		data = frame;
		size = frame_size;
	}
	// Too large for a chunk: leave it out, and readers make it anew.
	if (size >= TRACE_CONTENT_MAX - TRACE_PAGE)
		return NULL;
	sealed_chunk_put(out, kind, &like, &storage, 1, data, size);
	return buf_finish(out);
}

static struct err *put_curve(struct buf *out, const struct recording *recording,
			     enum finish_compress compress)
{
	size_t size;
	const uint8_t *curve = series_stored_bytes(recording, &size);

	return curve ? put_extra(out, TRACE_CHUNK_CURVE, curve, size, compress) : NULL;
}

static struct err *put_unseen(struct buf *out, const struct recording *recording,
			      enum finish_compress compress)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	struct err *err = sight_pack(recording_facts(recording), &packed);

	return err ? err : put_extra(out, TRACE_CHUNK_UNSEEN, packed.data, packed.size, compress);
}

/* Appends the chunks that finishing adds: symbols, index, curve and unseen. */
static struct err *make_extras(struct buf *out, const struct recording *recording,
			       struct symbolized *symbolized, enum finish_compress compress,
			       recording_progress *progress, void *argument)
{
	cleanup(buf_deinit) struct buf names = {0}, sums = {0};
	struct err *err;

	buf_init(&names);
	err = symbols_pack(symbolized, progress, argument, &names);
	if (!err)
		err = buf_finish(&names);
	if (!err && names.size)
		err = put_extra(out, TRACE_CHUNK_SYMBOLS, names.data, names.size, compress);
	if (err)
		return err;
	buf_init(&sums);
	err = index_pack(recording, &sums);
	if (!err)
		err = buf_finish(&sums);
	if (!err && sums.size)
		err = put_extra(out, TRACE_CHUNK_INDEX, sums.data, sums.size, compress);
	if (!err)
		err = put_curve(out, recording, compress);
	return err ? err : put_unseen(out, recording, compress);
}

/* Copies an embedded chunk's payload from the old file: used if no recording was loaded. */
static struct err *carry_over(struct finish *finish, enum trace_chunk_kind kind,
			      const struct extra_chunk *chunk, struct buf *out)
{
	auto_free uint8_t *data = NULL;
	struct err *err;
	size_t size;

	err = extra_chunk_fetch(chunk, &finish->source, &data, &size);
	if (err || !data)
		return err;
	return put_extra(out, kind, data, size, finish->options->compress);
}

static struct err *put_extras(struct finish *finish, const struct recording *recording,
			      struct symbolized *symbolized)
{
	cleanup(buf_deinit) struct buf out = BUF_EMPTY;
	struct err *err;

	if (recording) {
		err = make_extras(&out, recording, symbolized, finish->options->compress,
				  names_progress, (void *)finish->options);
	} else {
		err = carry_over(finish, TRACE_CHUNK_SYMBOLS, &finish->index.symbols, &out);
		if (!err)
			err = carry_over(finish, TRACE_CHUNK_INDEX, &finish->index.index, &out);
		if (!err)
			err = carry_over(finish, TRACE_CHUNK_CURVE, &finish->index.curve, &out);
		if (!err)
			err = carry_over(finish, TRACE_CHUNK_UNSEEN, &finish->index.unseen, &out);
	}
	return err ? err : put_bytes(finish, out.data, out.size);
}

static struct err *rewrite_recording(struct finish *finish, const struct recording *recording,
				     struct symbolized *symbolized)
{
	struct err *err;

	err = finish_job_plan(&finish->index, &finish->jobs, &finish->clipped_at);
	if (!err)
		err = put_header(finish);
	if (!err)
		err = finish_workers_run(&finish->jobs, &finish->index, &finish->source,
					 finish->compressed ? LEVEL : 0, put_job, finish);
	if (!err)
		err = put_kept(finish);
	if (!err)
		err = put_extras(finish, recording, symbolized);
	if (!err && finish->clipped_at < finish->index.file_size)
		err = put_extent(finish, finish->clipped_at,
				 finish->index.file_size - finish->clipped_at);
	// A file that was cut is known by its size.
	return err ? err
		   : replace_file_patch(&finish->file, TRACE_SIZE_OFFSET, &finish->written,
					sizeof(finish->written));
}

/* Checks that the file to be replaced is the one that was opened. */
static struct err *check_same(const struct finish *finish)
{
	struct stat status;

	if (fstat(finish->file_source.fd, &status) < 0)
		return err_create_errno(errno, "'%s'", finish->source.name);
	if (status.st_dev != finish->file.device || status.st_ino != finish->file.inode)
		return err_create("'%s' was replaced meanwhile", finish->source.name);
	return NULL;
}

struct err *finish_recording(const char *path, const struct recording *recording,
			     struct symbolized *symbolized, const struct finish_options *options,
			     struct finish_result *ret)
{
	cleanup(finish_deinit) struct finish finish = {
		.file_source.fd = -1,
		.file.fd = -1,
		.options = options,
	};
	struct err *err = open_recording(path, &finish);
	bool sound = true;

	if (err)
		return err;
	*ret = (struct finish_result){
		.state = state_of(&finish, options->compress),
		.size_before = finish.index.file_size,
		.size_after = finish.index.file_size,
	};
	if (ret->state == FINISH_LIVE || ret->state == FINISH_ALREADY)
		return NULL;
	finish.compressed = wants_compression(&finish, options->compress);
	// Index and names are copied as they are. They are right for an undamaged file only.
	if (ret->state == FINISH_RESTORE) {
		err = chunk_index_check(&finish.index, &finish.source, &sound);
		if (err)
			return err;
		if (!sound)
			return err_create("'%s' is damaged: it stays compressed", path);
	}
	err = replace_file_create(path, &finish.file);
	if (!err)
		err = check_same(&finish);
	if (!err)
		err = rewrite_recording(&finish, recording, symbolized);
	if (!err)
		err = replace_file_commit(&finish.file);
	if (err)
		return err;
	ret->compressed = finish.compressed;
	ret->size_after = finish.written;
	ret->other_names = finish.file.links > 1 ? finish.file.links - 1 : 0;
	return NULL;
}
