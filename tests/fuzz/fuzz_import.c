/*
 * libFuzzer target: bytes as the file of another profiler. The first byte chooses the reader. What
 * it accepts must be a recording that can be opened.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "base/compiler.h"
#include "import/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct err *(*const readers[])(struct import_input *input, struct import_sink *sink,
				      struct import_story *story) = {
#define FORMAT(id, name, text) read_##id,
#include "import/formats.def"
#undef FORMAT
};

static bool (*const knows[])(struct span head) = {
#define FORMAT(id, name, text) read_##id##_knows,
#include "import/formats.def"
#undef FORMAT
};

static struct err *import(uint8_t reader, struct import_input *input, int to)
{
	cleanup(sink_destroy_at) struct import_sink *sink = NULL;
	struct import_story story = {0};
	struct err *err = sink_create(to, &sink);

	if (!err)
		err = import_text_init(input->name, input->fd, &input->text);
	if (!err)
		sink_reads(sink, &input->text);
	if (!err)
		err = readers[reader % ARRAY_COUNT(readers)](input, sink, &story);
	return err ? err : sink_end(sink, story.origin, story.at_end);
}

static void try_input(const uint8_t *data, size_t size)
{
	struct import_input input = {.name = "input", .fd = memfd_create("input", MFD_CLOEXEC)};
	int to = memfd_create("recording", MFD_CLOEXEC), copy = dup(to);
	struct recording *recording;
	struct err *err;

	if (input.fd < 0 || copy < 0 || write(input.fd, data + 1, size - 1) != (ssize_t)size - 1 ||
	    lseek(input.fd, 0, SEEK_SET))
		abort();
	for (size_t i = 0; i < ARRAY_COUNT(knows); i++)
		knows[i]((struct span){(const char *)data + 1, size - 1});
	err = import(data[0], &input, to);
	if (!err) {
		if (recording_open_descriptor("recording", copy, RECORDING_BLOCKS, &recording))
			abort();
		recording_close(recording);
	}
	err_destroy(err);
	import_text_deinit(&input.text);
	close(input.fd);
	close(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		try_input(data, size);
	return 0;
}
