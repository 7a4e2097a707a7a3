/*
 * Runs a fuzz target over the files of the folders named on the command line, without libFuzzer.
 * --write DIR, which tools/fuzz.sh asks of every target, writes nothing: the files are the seeds.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *room = malloc(FILE_MAX), *data = NULL;
	int failed = !file || !room;

	if (!failed) {
		size_t size = fread(room, 1, FILE_MAX, file);

		// Exactly as large as the input, so that a sanitizer sees what is read behind it.
		data = malloc(size ? size : 1);
		failed = !data;
		if (data) {
			memcpy(data, room, size);
			LLVMFuzzerTestOneInput(data, size);
		}
	}
	if (failed)
		perror(path);
	free(data);
	free(room);
	if (file)
		fclose(file);
	return failed;
}

static int replay_folder(const char *folder, int *count)
{
	struct dirent *entry;
	DIR *open_folder = opendir(folder);
	int failed = 0;

	if (!open_folder) {
		perror(folder);
		return 1;
	}
	while ((entry = readdir(open_folder))) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		failed |= replay_file(path);
		++*count;
	}
	closedir(open_folder);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0, files = 0;

	if (argc == 3 && !strcmp(argv[1], "--write"))
		return 0;
	for (int i = 1; i < argc; i++)
		failed |= replay_folder(argv[i], &files);
	printf("%d files\n", files);
	return failed || !files;
}
