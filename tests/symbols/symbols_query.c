/*
 * Prints what the symbolizer knows, for the comparison with llvm-symbolizer:
 *
 *	symbols_query [-d DEBUG_PATH]… [-b BUILD_ID] [-q] FILE… < addresses
 *
 * One address a line, in hexadecimal. For each, a line a function
 *"raw_function\tfile\tline\tinlined \toffset\tfunction", innermost first, then an empty line; "-"
 * for unknown. -q: prints no functions. Last, to stderr, the note and the time taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hosted/vec.h"
#include "symbols/symbolizer.h"

static VEC(uint64_t) addresses;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "error: %s\n", err_message(err));
	exit(1);
}

static size_t parse_hex(const char *text, uint8_t *ret, size_t capacity)
{
	size_t size = strlen(text) / 2;

	if (size > capacity)
		exit(2);
	for (size_t i = 0; i < size; i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return size;
}

static void print(struct symbolizer *symbolizer, const struct symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = &symbols[i];
		const char *function = "-";

		if (symbol->raw_function)
			check(symbolizer_readable(symbolizer, symbol->raw_function, &function));

		printf("%s\t%s\t%u\t%d\t%llu\t%s\n",
		       symbol->raw_function ? symbol->raw_function : "-",
		       symbol->file ? symbol->file : "-", symbol->line, symbol->inlined,
		       (unsigned long long)symbol->offset, function);
	}
	putchar('\n');
}

/* Looks all addresses up in one file. */
static void query(struct symbolizer *symbolizer, const char *path, const uint8_t *build_id,
		  size_t build_id_size, bool quiet)
{
	struct symbol_module *module;
	double start = now();

	check(symbolizer_module(symbolizer, path, build_id, build_id_size, &module));
	for (size_t i = 0; i < addresses.count; i++) {
		const struct symbol *symbols;
		size_t count;

		check(symbol_module_find(module, addresses.items[i], &symbols, &count));
		if (!quiet)
			print(symbolizer, symbols, count);
	}

	const char *note = symbol_module_note(module);

	fprintf(stderr, "note\t%s\naddresses\t%zu\nseconds\t%.3f\n", note ? note : "-",
		addresses.count, now() - start);
}

int main(int argc, char **argv)
{
	struct symbolizer *symbolizer;
	uint8_t build_id[64];
	size_t build_id_size = 0;
	bool quiet = false;
	char line[64];

	check(symbolizer_create(&symbolizer));
	for (int option; (option = getopt(argc, argv, "d:b:q")) != -1;) {
		if (option == 'd')
			check(symbolizer_add_debug_path(symbolizer, optarg));
		else if (option == 'b')
			build_id_size = parse_hex(optarg, build_id, sizeof(build_id));
		else if (option == 'q')
			quiet = true;
		else
			return 2;
	}
	if (optind == argc)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		if (!vec_push(&addresses, strtoull(line, NULL, 16)))
			return 1;
	}
	for (int i = optind; i < argc; i++)
		query(symbolizer, argv[i], build_id, build_id_size, quiet);
	symbolizer_destroy(symbolizer);
	vec_deinit(&addresses);
	return 0;
}
