#include "trace/chunk_check.h"

#include "base/bytes.h"
#include "trace/checksum.h"

enum chunk_verdict chunk_check(const void *data, struct trace_chunk *ret, const char **expected)
{
	if (bytes_u64(data) != TRACE_CHUNK_MAGIC)
		return CHUNK_HOLE;
	__builtin_memcpy(ret, data, sizeof(*ret));
	if (ret->size < TRACE_PAGE || ret->size % TRACE_PAGE || ret->size > TRACE_CHUNK_SIZE_MAX) {
		*expected = "a chunk size that is a multiple of 4096, at most 1 GiB";
		return CHUNK_DAMAGED;
	}
	if ((ret->kind < TRACE_CHUNK_EVENTS || ret->kind > TRACE_CHUNK_INDEX) &&
	    ret->kind != TRACE_CHUNK_CURVE)
		return CHUNK_VALID;

	uint32_t role = ret->flags & (TRACE_CHUNK_SLOT | TRACE_CHUNK_SEALED);

	if (role != TRACE_CHUNK_SEALED && role != TRACE_CHUNK_SLOT) {
		*expected = "a chunk that is either a slot or sealed";
		return CHUNK_DAMAGED;
	}
	if (role != TRACE_CHUNK_SEALED && ret->kind != TRACE_CHUNK_EVENTS) {
		*expected = "a sealed chunk: only events have slots";
		return CHUNK_DAMAGED;
	}
	if (chunk_committed(ret) > chunk_room(ret->size)) {
		*expected = "no more committed bytes than the chunk has room for";
		return CHUNK_DAMAGED;
	}
	return CHUNK_VALID;
}

bool chunk_check_trailer(const void *data, size_t size)
{
	size_t covered = size - TRACE_TRAILER_SIZE;

	return trace_checksum(data, sizeof(struct trace_chunk),
			      (const uint8_t *)data + sizeof(struct trace_chunk),
			      covered - sizeof(struct trace_chunk)) ==
	       bytes_u64((const uint8_t *)data + covered);
}

enum header_verdict header_check(const void *data, size_t size, struct trace_header *ret)
{
	if (size < sizeof(ret->magic) || bytes_u64(data) != TRACE_MAGIC)
		return HEADER_FOREIGN;
	if (size < sizeof(*ret))
		return HEADER_CUT;
	__builtin_memcpy(ret, data, sizeof(*ret));
	return ret->version_major > TRACE_VERSION_MAJOR ? HEADER_NEWER : HEADER_VALID;
}
