/*
 * Runs the decoder's fuzz target over its seeds and over the files of the folders named on the
 * command line, without libFuzzer. With --write DIR it writes the seeds there, for libFuzzer to
 * start from.
 */
#include <stdio.h>
#include <string.h>

#include "../unit/sample_recordings.h"
#include "replay_folder.h"

static int write_seed(const char *directory, const char *name, const char *kind,
		      const uint8_t *data, size_t size)
{
	char path[4096];
	FILE *file;
	int failed;

	snprintf(path, sizeof(path), "%s/%s-%s", directory, name, kind);
	file = fopen(path, "wb");
	failed = !file || fwrite(data, 1, size, file) != size;
	if (file && fclose(file))
		failed = 1;
	if (failed)
		perror(path);
	return failed;
}

/* A seed is a whole recording, and the payload of its last chunk. */
static int seed(const struct sample_recording *sample, const char *directory)
{
	struct trace_writer writer;
	int failed = 0;

	sample->write(&writer);

	size_t start = writer.chunk ? writer.chunk + 64 : writer.size;

	if (directory) {
		failed |= write_seed(directory, sample->name, "whole", writer.data, writer.size);
		failed |= write_seed(directory, sample->name, "payload", writer.data + start,
				     writer.size - start);
	} else {
		LLVMFuzzerTestOneInput(writer.data, writer.size);
		LLVMFuzzerTestOneInput(writer.data + start, writer.size - start);
	}
	trace_writer_deinit(&writer);
	return failed;
}

int main(int argc, char **argv)
{
	const char *directory = argc == 3 && !strcmp(argv[1], "--write") ? argv[2] : NULL;
	int failed = 0, files = 0;

	for (unsigned int i = 0; i < sample_recording_count; i++)
		failed |= seed(&sample_recordings[i], directory);
	for (int i = 1; !directory && i < argc; i++)
		failed |= replay_folder(argv[i], &files);
	printf("%u seeds and %d files\n", sample_recording_count, files);
	return failed;
}
