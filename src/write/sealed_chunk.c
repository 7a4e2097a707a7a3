#include "write/sealed_chunk.h"

#include "base/bytes.h"
#include "trace/checksum.h"
#include "trace/chunk_check.h"

static uint32_t size_for(size_t payload)
{
	return (uint32_t)bytes_round_up(sizeof(struct trace_chunk) + payload + TRACE_TRAILER_SIZE,
					TRACE_PAGE);
}

struct trace_chunk sealed_chunk_trimmed(const struct trace_chunk *header)
{
	struct trace_chunk trimmed = *header;

	trimmed.flags = (header->flags & ~(uint32_t)TRACE_CHUNK_SLOT) | TRACE_CHUNK_SEALED;
	trimmed.size = size_for(chunk_committed(header));
	return trimmed;
}

void sealed_chunk_put(struct buf *buf, enum trace_chunk_kind kind, const struct trace_chunk *like,
		      const void *head, size_t head_size, const void *rest, size_t rest_size)
{
	size_t payload = head_size + rest_size, begin = buf->size;
	struct trace_chunk header = *like;
	uint64_t trailer;

	header.magic = TRACE_CHUNK_MAGIC;
	header.kind = kind;
	header.flags = TRACE_CHUNK_SEALED;
	header.size = size_for(payload);
	header.commit = trace_commit_word(chunk_sequence(like), (uint32_t)payload);
	buf_put(buf, &header, sizeof(header));
	buf_put(buf, head, head_size);
	buf_put(buf, rest, rest_size);
	buf_repeat(buf, 0, header.size - sizeof(header) - payload - TRACE_TRAILER_SIZE);
	if (buf->failure)
		return;
	trailer = trace_checksum(&header, sizeof(header), buf->data + begin + sizeof(header),
				 buf->size - begin - sizeof(header));
	buf_put(buf, &trailer, sizeof(trailer));
}
