/*
 * Bytes that are compressed on their way: what is written into one buf comes out of another one as
 * a gzip or zstd file.
 *
 *	compressor_create(COMPRESSION_GZIP, out, &compressor);
 *	buf_text(compressor_input(compressor), "...");
 *	err = compressor_finish(compressor);
 *	compressor_destroy(compressor);
 */
#ifndef MALLOW_HOSTED_COMPRESSOR_H
#define MALLOW_HOSTED_COMPRESSOR_H

#include "hosted/buf.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

/* What a file of that name is expected to hold: by its end, ".gz" or ".zst". */
enum compression compression_of_name(const char *name);

struct compressor;

/* out must outlive it, and is not written to by anybody else meanwhile. */
struct err *compressor_create(enum compression compression, struct buf *out,
			      struct compressor **ret);
/* What was not finished is lost. Accepts NULL. */
void compressor_destroy(struct compressor *compressor);

/* To be written to until compressor_finish(). With COMPRESSION_NONE it is out itself. */
struct buf *compressor_input(struct compressor *compressor);

/* Writes the rest into out; returns the first failure of the input. That of out is its own. */
struct err *compressor_finish(struct compressor *compressor);

#endif
