/*
 * libFuzzer target: bytes as a recording. What begins like one is opened as it is; anything else
 * becomes the payload of a slot, so that the fuzzer needs no page of header to reach the decoder.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/recording_memory.h"
#include "trace/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_bytes(const uint8_t *data, size_t size)
{
	struct recording *recording = NULL;
	struct err *err = recording_open_memory("fuzz", data, size, RECORDING_BLOCKS, &recording);

	err_destroy(err);
	recording_close(recording);
}

static void open_payload(const uint8_t *data, size_t size)
{
	struct trace_header header = {
		.magic = TRACE_MAGIC,
		.version_major = TRACE_VERSION_MAJOR,
		.header_size = TRACE_PAGE,
		.clock = TRACE_CLOCK_TSC,
		.allocator = TRACE_ALLOCATOR_GLIBC,
	};
	struct trace_chunk chunk = {
		.magic = TRACE_CHUNK_MAGIC,
		.kind = TRACE_CHUNK_EVENTS,
		.flags = TRACE_CHUNK_SLOT,
		.commit = trace_commit_word(0, (uint32_t)size),
	};
	size_t whole = (sizeof(chunk) + size + TRACE_TRAILER_SIZE + TRACE_PAGE - 1) / TRACE_PAGE *
		       TRACE_PAGE;
	uint8_t *bytes = calloc(1, TRACE_PAGE + whole);

	if (!bytes)
		abort();
	chunk.size = (uint32_t)whole;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + TRACE_PAGE, &chunk, sizeof(chunk));
	if (size)
		memcpy(bytes + TRACE_PAGE + sizeof(chunk), data, size);
	open_bytes(bytes, TRACE_PAGE + whole);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t magic = TRACE_MAGIC;

	if (size >= sizeof(magic) && memcmp(data, &magic, sizeof(magic)) == 0)
		open_bytes(data, size);
	else if (size < 1 << 20)
		open_payload(data, size);
	return 0;
}
