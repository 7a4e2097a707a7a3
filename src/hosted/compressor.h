/*
 * Compresses a stream: what is written into one buf comes out of another one as a gzip or zstd
 * file.
 *
 *	compressor_create(COMPRESSION_GZIP, out, &compressor);
 *	buf_text(compressor_input(compressor), "...");
 *	err = compressor_finish(compressor);
 *	compressor_destroy(compressor);
 */
#ifndef MALLOW_HOSTED_COMPRESSOR_H
#define MALLOW_HOSTED_COMPRESSOR_H

#include "hosted/buf.h"
#include "hosted/cleanup.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* The compression that a file's name asks for by its end: ".gz" or ".zst", else none. */
enum compression compression_of_name(const char *name);

struct compressor;

/* out must outlive the compressor, and nobody else may write to it before compressor_finish(). */
struct err *compressor_create(enum compression compression, struct buf *out,
			      struct compressor **ret);
/* Without compressor_finish() before, the rest is lost. Accepts NULL. */
void compressor_destroy(struct compressor *compressor);
CLEANUP_DEFINE(struct compressor *, compressor_destroy);

/* The buf to write to, until compressor_finish(). With COMPRESSION_NONE it is out itself. */
struct buf *compressor_input(struct compressor *compressor);

/* Writes the rest into out. Returns the first failure of the input; failures of out stay in out. */
struct err *compressor_finish(struct compressor *compressor);

enum gzip_effort {
	GZIP_USUAL = 6,
	GZIP_MOST = 10, /* a twentieth less, in ten times the time */
};

/*
 * Appends a gzip file of what is in memory as a whole: smaller, and sooner, than a stream makes it.
 * The only error: no memory.
 */
struct err *gzip_put(struct buf *buf, const void *data, size_t size, enum gzip_effort effort);

#endif
