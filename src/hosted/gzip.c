#include "hosted/gzip.h"

#include <libdeflate.h>

struct err *gzip_put(struct buf *buf, const void *data, size_t size, enum gzip_effort effort)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor((int)effort);
	size_t bound = compressor ? libdeflate_gzip_compress_bound(compressor, size) : 0;
	void *room = compressor ? buf_room(buf, bound) : NULL;

	if (room)
		buf->size += libdeflate_gzip_compress(compressor, data, size, room, bound);
	libdeflate_free_compressor(compressor);
	return room ? NULL : err_no_memory();
}
