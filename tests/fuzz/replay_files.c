/*
 * Runs a fuzz target over the files of the folders named on the command line, without libFuzzer.
 * --write DIR, which tools/fuzz.sh asks of every target, writes nothing: the files are the seeds.
 */
#include <stdio.h>
#include <string.h>

#include "replay_folder.h"

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
