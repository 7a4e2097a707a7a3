#include "finish/finish_job.h"

#include <stdlib.h>
#include <string.h>

#include "finish/finish_packed.h"
#include "write/sealed_chunk.h"

/*
 * The payload of a job. Above JOB_PAYLOAD compression hardly gets better. A reader holds the
 * payload of one packed chunk for each stream at a time: if there are very many streams, jobs are
 * made smaller, so that all of these fit into READER_PAYLOAD.
 */
#define JOB_PAYLOAD     (1u << 20)
#define JOB_PAYLOAD_MIN (1u << 16)
#define READER_PAYLOAD  (64u << 20)

struct err *finish_scratch_create(int level, struct finish_scratch *ret)
{
	struct finish_scratch scratch = {.pack = CHUNK_UNPACKED};
	struct err *err;

	if (level) {
		err = finish_packed_create(level, &scratch.packed);
		if (err)
			return err;
	}
	*ret = scratch;
	return NULL;
}

void finish_scratch_deinit(struct finish_scratch *scratch)
{
	finish_packed_destroy(scratch->packed);
	free(scratch->chunk);
	buf_deinit(&scratch->headers);
	buf_deinit(&scratch->payload);
	*scratch = (struct finish_scratch){0};
}

static struct err *reserve(struct finish_scratch *scratch, size_t size)
{
	scratch->pack = CHUNK_UNPACKED;
	if (size <= scratch->chunk_capacity ||
	    vec_grow((void **)&scratch->chunk, &scratch->chunk_capacity, 0, size, 1))
		return NULL;
	return err_no_memory();
}

static struct err *copy_extent(const struct byte_source *source, uint64_t offset, uint32_t size,
			       struct finish_scratch *scratch, struct buf *out)
{
	struct err *err;
	size_t got;

	err = reserve(scratch, size);
	if (!err)
		err = byte_source_read(source, offset, scratch->chunk, size, &got);
	if (err)
		return err;
	if (got < size)
		return err_create("%s: became shorter while it was read", source->name);
	buf_put(out, scratch->chunk, size);
	return NULL;
}

/* Reads a sealed chunk. *payload: its committed bytes; NULL: it is damaged. */
static struct err *read_sealed(const struct indexed_chunk *chunk, const struct byte_source *source,
			       struct finish_scratch *scratch, const uint8_t **payload)
{
	struct err *err;
	size_t got;

	err = reserve(scratch, chunk->header.size);
	if (!err)
		err = byte_source_read(source, chunk->offset, scratch->chunk, chunk->header.size,
				       &got);
	if (err)
		return err;
	if (got < chunk->header.size)
		return err_create("%s: became shorter while it was read", source->name);
	*payload = chunk_check_trailer(scratch->chunk, got) ? scratch->chunk + sizeof(chunk->header)
							    : NULL;
	return NULL;
}

/*
 * The same for a chunk within a packed one. If the packed chunk is damaged, all chunks in it are.
 */
static struct err *read_packed(const struct indexed_chunk *chunk, const struct chunk_index *index,
			       const struct byte_source *source, struct finish_scratch *scratch,
			       const uint8_t **payload)
{
	const struct packed_chunk *pack = &index->packs.items[chunk->pack];
	const char *expected;
	struct err *err;
	size_t got;

	if (scratch->pack != chunk->pack) {
		err = reserve(scratch, packed_chunk_room(pack));
		if (!err)
			err = packed_chunk_read_content(source, pack, scratch->chunk, &got,
							&expected);
		if (err)
			return err;
		scratch->pack = chunk->pack;
		scratch->pack_sound = !expected;
	}
	*payload = scratch->pack_sound ? scratch->chunk + chunk->pack_at : NULL;
	return NULL;
}

/*
 * Writes the gathered chunks without compression. Used if they would compress so well that readers
 * would refuse the packed chunk (TRACE_PACKED_RATIO_MAX).
 */
static struct err *put_unpacked(const struct finish_scratch *scratch, struct buf *out)
{
	const char *payload = scratch->payload.data;

	for (size_t at = 0; at < scratch->headers.size; at += sizeof(struct trace_chunk)) {
		struct trace_chunk header;

		memcpy(&header, scratch->headers.data + at, sizeof(header));
		sealed_chunk_put(out, TRACE_CHUNK_EVENTS, &header, payload,
				 chunk_committed(&header), NULL, 0);
		payload += chunk_committed(&header);
	}
	return buf_finish(out);
}

/* Writes the gathered chunks as one packed chunk. */
static struct err *flush(struct finish_scratch *scratch, struct buf *out)
{
	size_t before = out->size, payload = scratch->payload.size;
	struct err *err;

	if (!scratch->headers.size)
		return NULL;
	buf_repeat(&scratch->payload, 0, COLUMNS_SLACK);
	err = buf_finish(&scratch->payload);
	if (err)
		return err;
	scratch->payload.size = payload;
	err = finish_packed_put(scratch->packed, &scratch->headers, &scratch->payload, out);
	if (!err && payload / TRACE_PACKED_RATIO_MAX > out->size - before) {
		out->size = before;
		err = put_unpacked(scratch, out);
	}
	scratch->headers.size = scratch->payload.size = 0;
	return err;
}

static struct err *put_chunk(struct finish_scratch *scratch, const struct trace_chunk *header,
			     const uint8_t *payload, struct buf *out)
{
	struct trace_chunk trimmed = sealed_chunk_trimmed(header);

	if (!scratch->packed) {
		sealed_chunk_put(out, TRACE_CHUNK_EVENTS, &trimmed, payload,
				 chunk_committed(header), NULL, 0);
		return buf_finish(out);
	}
	buf_put(&scratch->headers, &trimmed, sizeof(trimmed));
	buf_put(&scratch->payload, payload, chunk_committed(header));
	if (scratch->headers.failure || scratch->payload.failure)
		return err_no_memory();
	return NULL;
}

/*
 * Copies a damaged chunk as it is. If it was packed, the whole packed chunk is copied, once for all
 * that were in it.
 */
static struct err *put_damaged(const struct chunk_index *index, const struct finish_job *job,
			       size_t at, const struct byte_source *source,
			       struct finish_scratch *scratch, struct buf *out)
{
	const struct indexed_chunk *chunk = &index->chunks.items[at];
	uint32_t pack = chunk->pack;
	struct err *err;

	if (pack == CHUNK_UNPACKED) {
		err = flush(scratch, out);
		return err ? err
			   : copy_extent(source, chunk->offset, chunk->header.size, scratch, out);
	}
	if (at > job->first && chunk[-1].pack == pack)
		return NULL;
	err = flush(scratch, out);
	if (!err)
		err = copy_extent(source, chunk->offset, index->packs.items[pack].size, scratch,
				  out);
	scratch->pack = pack;
	scratch->pack_sound = false;
	return err;
}

struct err *finish_job_run(struct finish_job *job, const struct chunk_index *index,
			   const struct byte_source *source, struct finish_scratch *scratch)
{
	struct err *err = NULL;

	scratch->headers.size = scratch->payload.size = 0;
	for (size_t i = job->first; !err && i < job->end; i++) {
		const struct indexed_chunk *chunk = &index->chunks.items[i];
		const uint8_t *payload = chunk->copy;
		bool slot = chunk->header.flags & TRACE_CHUNK_SLOT;

		if (!slot && chunk->pack == CHUNK_UNPACKED)
			err = read_sealed(chunk, source, scratch, &payload);
		else if (!slot)
			err = read_packed(chunk, index, source, scratch, &payload);
		if (err)
			return err;
		if (slot || payload)
			err = put_chunk(scratch, &chunk->header, payload, &job->out);
		else
			err = put_damaged(index, job, i, source, scratch, &job->out);
	}
	if (!err && scratch->packed)
		err = flush(scratch, &job->out);
	return err ? err : buf_finish(&job->out);
}

/*
 * Whether a chunk reaches beyond the end of the file. Nothing can be written behind such a chunk.
 */
static bool is_clipped(const struct chunk_index *index, const struct indexed_chunk *chunk)
{
	uint64_t size = chunk->pack == CHUNK_UNPACKED ? chunk->header.size
						      : index->packs.items[chunk->pack].size;

	if (chunk->offset + size <= index->file_size)
		return false;
	// A slot is whole if only unused room of it is missing.
	return !(chunk->header.flags & TRACE_CHUNK_SLOT) ||
	       chunk->offset + sizeof(chunk->header) + chunk_committed(&chunk->header) >=
		       index->file_size;
}

static uint64_t job_payload(const struct chunk_index *index)
{
	const struct indexed_chunk *chunks = index->chunks.items;
	uint64_t streams = 1, payload;

	for (size_t i = 1; i < index->chunks.count; i++)
		streams += chunks[i].header.stream != chunks[i - 1].header.stream;
	payload = READER_PAYLOAD / streams;
	if (payload > JOB_PAYLOAD)
		return JOB_PAYLOAD;
	return payload < JOB_PAYLOAD_MIN ? JOB_PAYLOAD_MIN : payload;
}

static bool continues(const struct chunk_index *index, const struct finish_job *job, size_t next,
		      uint64_t most)
{
	const struct indexed_chunk *before = &index->chunks.items[next - 1];
	const struct indexed_chunk *chunk = &index->chunks.items[next];

	if (job->end != next || chunk->header.stream != before->header.stream)
		return false;
	if (chunk->pack != CHUNK_UNPACKED && chunk->pack == before->pack)
		return true;
	return job->payload + chunk_committed(&chunk->header) <= most;
}

struct err *finish_job_plan(const struct chunk_index *index, struct finish_jobs *ret,
			    uint64_t *clipped_at)
{
	uint64_t most = job_payload(index);
	struct finish_jobs jobs = {0};

	*clipped_at = index->file_size;
	for (size_t i = 0; i < index->chunks.count; i++) {
		const struct indexed_chunk *chunk = &index->chunks.items[i];

		if (is_clipped(index, chunk)) {
			*clipped_at = chunk->offset;
			continue;
		}
		if (!jobs.count || !continues(index, &jobs.items[jobs.count - 1], i, most)) {
			struct finish_job job = {.first = i, .end = i};

			if (!vec_push(&jobs, job)) {
				finish_jobs_deinit(&jobs);
				return err_no_memory();
			}
		}
		jobs.items[jobs.count - 1].end = i + 1;
		jobs.items[jobs.count - 1].payload += chunk_committed(&chunk->header);
	}
	*ret = jobs;
	return NULL;
}

void finish_jobs_deinit(struct finish_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		buf_deinit(&jobs->items[i].out);
	vec_deinit(jobs);
}
