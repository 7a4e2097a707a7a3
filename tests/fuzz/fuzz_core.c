/*
 * libFuzzer target: a core dump with a live table in it, of which some bytes are changed and the
 * rest may be cut off. The input: flags of core_writer.h in one byte; where to cut, three bytes (0:
 * nowhere); then changes: where, three bytes, how many bytes, one, and these.
 *
 * Whatever stands in it, it is a report or an error.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/core_writer.h"
#include "analysis/recording_memory.h"
#include "coredump/coredump.h"
#include "report/json/core_json.h"
#include "report/text/core_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t place_at(const uint8_t *data)
{
	return (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
}

static void change(struct core_writer *core, const uint8_t *data, size_t size)
{
	while (size > 4) {
		size_t at = place_at(data) % core->size, count = data[3];

		if (count > size - 4)
			count = size - 4;
		if (count > core->size - at)
			count = core->size - at;
		memcpy(core->data + at, data + 4, count);
		data += 4 + count;
		size -= 4 + count;
	}
}

static void write_views(const struct recording *recording)
{
	const struct core_view_options options = {.path = "fuzz"};
	const struct style style = {.width = 80};
	struct core_view_of of = {recording, recording, NULL, NULL};
	struct json_writer json;
	struct core_view view;
	struct buf buf;

	if (symbolized_create(recording, NULL, &of.symbolized) ||
	    core_view_create(&of, &options, &view))
		abort();
	buf_init(&buf);
	json_init(&json, &buf, false);
	if (core_text_write(&buf, &style, &view) || core_json_write(&json, &view) ||
	    buf_finish(&buf))
		abort();
	buf_deinit(&buf);
	core_view_deinit(&view);
	symbolized_destroy(of.symbolized);
}

static void open_path(const char *path, bool raw)
{
	struct recording *recording;
	struct err *err = raw ? recording_open_raw(&path, 1, &recording)
			      : recording_open(path, RECORDING_BLOCKS, NULL, NULL, &recording);

	if (err) {
		err_destroy(err);
		return;
	}
	write_views(recording);
	recording_close(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct core_writer core;
	char path[40];
	size_t length;
	int fd;

	if (size < 4)
		return 0;
	core_writer_make(&core, data[0] & 7);
	change(&core, data + 4, size - 4);
	length = place_at(data + 1) ? place_at(data + 1) % core.size + 1 : core.size;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, core.data, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	open_path(path, data[0] & CORE_WRITER_RAW);
	close(fd);
	core_writer_deinit(&core);
	return 0;
}
