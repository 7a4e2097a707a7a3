/*
 * libFuzzer target: a core dump with a live table in it, of which some bytes are changed and the
 * rest may be cut off. The input: flags of core_writer.h in one byte; where to cut, three bytes (0:
 * nowhere); then changes: where, three bytes, how many bytes, one, and these. The flag 8: before
 * the changes the list of mapped files says something else, by 16 bytes: what is added to the start
 * of the mapping, and to its end, six bytes each with a sign, and its offset, four.
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

#define FILES_SIZE 16

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

static uint64_t number_at(const uint8_t *data, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, data, size);
	return value;
}

/* The structure of NT_FILE: changes of single bytes seldom keep a mapping one. */
static void change_files(struct core_writer *core, const uint8_t *data)
{
	uint8_t *words = core->data + core->files_from + 16;
	uint64_t start = number_at(words, 8), end = number_at(words + 8, 8);
	uint64_t offset = number_at(data + 12, 4);

	start += (uint64_t)((int64_t)(number_at(data, 6) << 16) >> 16);
	end += (uint64_t)((int64_t)(number_at(data + 6, 6) << 16) >> 16);
	memcpy(words, &start, 8);
	memcpy(words + 8, &end, 8);
	memcpy(words + 16, &offset, 8);
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
	size_t length, files = 0;
	int fd;

	if (size < 4)
		return 0;
	core_writer_make(&core, data[0] & 7);
	if (data[0] & 8 && core.files_from && size >= 4 + FILES_SIZE) {
		change_files(&core, data + 4);
		files = FILES_SIZE;
	}
	change(&core, data + 4 + files, size - 4 - files);
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
