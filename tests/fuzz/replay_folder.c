#include "replay_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

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

int replay_folder(const char *folder, int *count)
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
