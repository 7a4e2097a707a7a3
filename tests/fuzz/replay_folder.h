/* The seeds of a fuzz target that are files: run without libFuzzer. */
#ifndef TESTS_FUZZ_REPLAY_FOLDER_H
#define TESTS_FUZZ_REPLAY_FOLDER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the target over each file of the folder, adds their number to *count. 0: all were read. */
int replay_folder(const char *folder, int *count);

#endif
