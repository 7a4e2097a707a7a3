/*
 * Damages an ELF file in many ways and asks the symbolizer for names all over it: nothing may
 * crash, and nothing may take longer than TIME_LIMIT seconds.
 *
 *	symbols_mutate [-n ROUNDS] [-s FIRST_SEED] FILE
 *
 * Each round is a process of its own, so that a crash in libdw is counted with its seed, not the
 * end. Prints "N passed, N failed"; exits 1 when any failed.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_damage.h"
#include "symbols/symbolizer.h"

#define TIME_LIMIT   10
#define MEMORY_LIMIT (2ull << 30)
#define QUERIES      300

static uint8_t *original;
static size_t original_size;
static uint64_t text_low, text_size; /* the original's .text */

static void read_file(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file || fseek(file, 0, SEEK_END))
		exit(2);
	original_size = (size_t)ftell(file);
	rewind(file);
	original = malloc(original_size);
	if (original_size < sizeof(Elf64_Ehdr) || !original ||
	    fread(original, 1, original_size, file) != original_size)
		exit(2);
	fclose(file);
}

/* The largest section of code. */
static void find_text(void)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, original, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		memcpy(&section, original + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_flags & SHF_EXECINSTR && section.sh_size > text_size) {
			text_low = section.sh_addr;
			text_size = section.sh_size;
		}
	}
	if (!text_size)
		exit(2);
}

static void ignore(struct err *err)
{
	err_destroy(err);
}

static void query(const char *path, uint64_t *state)
{
	struct symbolizer *symbolizer;
	struct symbol_module *module;

	if (symbolizer_create(&symbolizer))
		exit(3);

	struct err *err = symbolizer_module(symbolizer, path, NULL, 0, &module);

	for (int i = 0; !err && i < QUERIES; i++) {
		const struct symbol *symbols;
		size_t count;
		uint64_t address = text_low + elf_damage_random(state) % text_size;

		err = symbol_module_find(module, address, &symbols, &count);
		for (size_t j = 0; !err && j < count; j++) {
			const char *raw = symbols[j].raw_function, *readable = NULL;

			if (raw)
				err = symbolizer_readable(symbolizer, raw, &readable);
			if (readable && !readable[0] && raw[0])
				exit(4);
		}
	}
	ignore(err);
	symbolizer_destroy(symbolizer);
}

static void run_round(uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
	uint8_t *bytes = malloc(original_size);
	char path[64];
	int fd = memfd_create("mutant", 0);

	if (!bytes || fd < 0)
		exit(3);
	memcpy(bytes, original, original_size);
	for (int i = 0; i < 4; i++)
		elf_damage_random(&state);

	size_t size = seed ? elf_damage(bytes, original_size, &state) : original_size;

	if (write(fd, bytes, size) != (ssize_t)size)
		exit(3);
	free(bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_LIMIT, MEMORY_LIMIT});
#endif
	alarm(TIME_LIMIT);
	query(path, &state);
	close(fd);
	free(original);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 500, first = 0, failed = 0;

	for (int option; (option = getopt(argc, argv, "n:s:")) != -1;) {
		if (option == 'n')
			rounds = strtoul(optarg, NULL, 0);
		else if (option == 's')
			first = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	read_file(argv[optind]);
	find_text();
	for (unsigned long seed = first; seed < first + rounds; seed++) {
		fflush(stdout); // or the child would print it once more

		pid_t child = fork();
		int status;

		if (!child) {
			run_round(seed);
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 2;
		if (status) {
			printf("seed %lu: %s %d\n", seed, WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			failed++;
		}
	}
	free(original);
	printf("%lu passed, %lu failed\n", rounds - failed, failed);
	return failed ? 1 : 0;
}
