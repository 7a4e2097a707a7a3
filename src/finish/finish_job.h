/*
 * One piece of the work: consecutive events chunks of one stream, about 1 MiB of payload, in; the
 * bytes that stand for them in the finished file, out. Pieces do not depend on each other.
 */
#ifndef MALLOW_FINISH_FINISH_JOB_H
#define MALLOW_FINISH_FINISH_JOB_H

#include <stdbool.h>

#include "analysis/chunks/chunk_index.h"
#include "hosted/buf.h"
#include "hosted/files/byte_source.h"

struct finish_job {
	size_t first, end; /* chunks of the index */
	uint64_t payload;  /* what they have committed */
	struct buf out;    /* whole chunks */
};

struct finish_jobs {
	struct finish_job *items;
	size_t count;
	size_t capacity;
};

/*
 * Cuts the index into jobs, in order. Leaves out what the end of the file cuts; *clipped_at
 * receives where that begins, the file's size if nothing is cut.
 */
struct err *finish_job_plan(const struct chunk_index *index, struct finish_jobs *ret,
			    uint64_t *clipped_at);
void finish_jobs_deinit(struct finish_jobs *jobs);

struct finish_packed;

/* Memory that one worker uses again for each of its jobs. */
struct finish_scratch {
	uint8_t *chunk; /* a chunk, or the content of a packed one */
	size_t chunk_capacity;
	uint32_t pack; /* whose content `chunk` is, CHUNK_UNPACKED: none */
	bool pack_sound;
	/* The packed chunk in the making: headers, payloads; then the latter compressed. */
	struct buf headers;
	struct buf payload;
	struct finish_packed *packed; /* NULL: chunks are not compressed */
};

/* level 0: without compression. */
struct err *finish_scratch_create(int level, struct finish_scratch *ret);
void finish_scratch_deinit(struct finish_scratch *scratch);

/*
 * Fills job->out. A chunk that does not match its checksum is handed on as it is, so that it is
 * still found damaged.
 */
struct err *finish_job_run(struct finish_job *job, const struct chunk_index *index,
			   const struct byte_source *source, struct finish_scratch *scratch);

#endif
