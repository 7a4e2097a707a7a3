#include "stream/discovery/program_name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/files/byte_source.h"
#include "hosted/proc.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"

#define LOOKED_MAX (4u << 20) /* bytes of the file; the executable is among the first records */
#define CHUNK_MAX  (256u << 10)
#define LOOK_MS    5
#define LOOKS      10 /* a recording that has just begun says it within a moment */

static void copy_file_name(const char *path, size_t size, char *ret, size_t room)
{
	char text[4096];

	snprintf(text, sizeof(text), "%.*s", (int)(size < sizeof(text) ? size : sizeof(text) - 1),
		 path);
	if (*file_name(text))
		snprintf(ret, room, "%s", file_name(text));
}

/* Looks for the record in one chunk. */
static bool find_in_chunk(const uint8_t *payload, const struct trace_chunk *header, char *ret,
			  size_t room)
{
	struct decode_stream stream = {0};
	enum decode_result result;
	struct decode_event event;
	bool found = false;

	if (header->carried || decode_chunk(&stream, payload, chunk_committed(header),
					    header->base_ticks, 0, true) != DECODE_RECORD)
		return false;
	do {
		result = decode_next(&stream, &event);
		if (result == DECODE_NEED_STACK) {
			struct decode_frame *grown = NULL;

			if (stream.needed <= DECODE_DEPTH_MAX)
				grown = reallocarray(stream.stack, stream.needed,
						     sizeof(*stream.stack));
			if (!grown)
				break;
			stream.stack = grown;
			stream.capacity = stream.needed;
			continue;
		}
		found = result == DECODE_RECORD && event.kind == TRACE_RECORD_PROCESS &&
			event.process.field == TRACE_PROCESS_EXECUTABLE;
	} while (!found && (result == DECODE_RECORD || result == DECODE_NEED_STACK));
	if (found)
		copy_file_name(event.process.value.data, event.process.value.size, ret, room);
	free(stream.stack);
	return found;
}

/* Whether the recording says it. */
static bool find_in_recording(const struct byte_source *source, char *ret, size_t room)
{
	auto_free uint8_t *bytes = malloc(CHUNK_MAX);
	uint64_t offset = TRACE_PAGE;
	bool found = false;

	while (bytes && !found && offset < LOOKED_MAX) {
		struct trace_chunk header;
		const char *expected;
		bool valid;
		size_t got = 0;

		if (byte_source_read(source, offset, bytes, CHUNK_MAX, &got) ||
		    got < sizeof(header))
			break;
		valid = chunk_check(bytes, &header, &expected) == CHUNK_VALID;
		if (valid && header.kind == TRACE_CHUNK_EVENTS &&
		    sizeof(header) + chunk_committed(&header) <= got)
			found = find_in_chunk(bytes + sizeof(header), &header, ret, room);
		offset = byte_source_next_unit(source, offset + (valid ? header.size : TRACE_PAGE),
					       TRACE_PAGE);
	}
	return found;
}

/* Whether /proc says it of that very process: its number may be another's here. */
static bool find_in_proc(int fd, char *ret, size_t room)
{
	struct trace_header header;
	char link[64], path[4096];
	ssize_t length;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    process_start_time(header.pid) != header.start_time)
		return false;
	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/exe", header.pid);
	length = readlink(link, path, sizeof(path));
	if (length > 0)
		copy_file_name(path, (size_t)length, ret, room);
	return length > 0;
}

void program_name(int fd, char *ret, size_t room)
{
	const struct byte_source source = {.name = "the recording", .fd = fd};
	const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000};

	snprintf(ret, room, "program");
	for (int looks = 0; looks < LOOKS; looks++) {
		if (find_in_recording(&source, ret, room) || find_in_proc(fd, ret, room))
			return;
		nanosleep(&moment, NULL);
	}
}
