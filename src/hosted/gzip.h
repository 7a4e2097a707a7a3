/* gzip files of what is in memory as a whole: smaller, and sooner, than compressor.h makes streams.
 */
#ifndef MALLOW_HOSTED_GZIP_H
#define MALLOW_HOSTED_GZIP_H

#include "hosted/buf.h"

enum gzip_effort {
	GZIP_USUAL = 6,
	GZIP_MOST = 10, /* a twentieth less, in ten times the time */
};

/* Appends the file. The only error: no memory. */
struct err *gzip_put(struct buf *buf, const void *data, size_t size, enum gzip_effort effort);

#endif
