/*
 * A job is one piece of finishing. Its input: consecutive events chunks of one stream with about 1
 * MiB of payload. Its output: the bytes of the finished file that replace them. Jobs do not depend
 * on each other.
 */
#ifndef MALLOW_FINISH_FINISH_JOB_H
#define MALLOW_FINISH_FINISH_JOB_H

#include <stdbool.h>

#include "analysis/chunks/chunk_index.h"
#include "hosted/buf.h"
#include "hosted/files/byte_source.h"

struct finish_job {
	size_t first, end; /* chunks of the index: first … end - 1 */
	uint64_t payload;  /* their committed bytes */
	struct buf out;    /* whole chunks */
};

struct finish_jobs {
	struct finish_job *items;
	size_t count;
	size_t capacity;
};

/*
 * Cuts the index into jobs, in order. A chunk that reaches beyond the end of the file is left out.
 * *clipped_at: where that chunk begins; the file's size if there is none.
 */
struct err *finish_job_plan(const struct chunk_index *index, struct finish_jobs *ret,
			    uint64_t *clipped_at);
void finish_jobs_deinit(struct finish_jobs *jobs);

struct finish_packed;

/* Memory that a worker uses again for each of its jobs. */
struct finish_scratch {
	uint8_t *chunk; /* a chunk, or the content of a packed one */
	size_t chunk_capacity;
	uint32_t pack; /* the packed chunk whose content is in `chunk`; CHUNK_UNPACKED: none */
	bool pack_sound;
	/* The packed chunk that is being made: the headers and the payloads of its chunks. */
	struct buf headers;
	struct buf payload;
	struct finish_packed *packed; /* NULL: chunks are not compressed */
};

/* level: zstd's; 0: chunks are not compressed. */
struct err *finish_scratch_create(int level, struct finish_scratch *ret);
void finish_scratch_deinit(struct finish_scratch *scratch);

/*
 * Fills job->out. A chunk that does not match its checksum is copied as it is, so that readers
 * still find it damaged.
 */
struct err *finish_job_run(struct finish_job *job, const struct chunk_index *index,
			   const struct byte_source *source, struct finish_scratch *scratch);

#endif
