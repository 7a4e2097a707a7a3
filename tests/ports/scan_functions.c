/*
 * What the scanner says of code, in which a table says what is true: scan_functions FILE OFFSET,
 * and on standard input "start count" lines, hexadecimal and decimal: functions and their
 * instructions. FILE's byte OFFSET + start is where one lies. Or scan_functions FILE OFFSET TEXT
 * SIZE ANCHOR and "address 1" lines: as the agent does it for an address, which knows no function's
 * start.
 *
 * For each instruction it writes five numbers of 4 bytes: the distances of the CFA from sp and fp
 * (INT32_MIN: not known), where the return address lies from the CFA (0: in a register; INT32_MIN:
 * there is no rule), where the caller's fp (0: not saved), and whether that is sure.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cfi/scan.h"

static void write_state(const struct scan_state *state)
{
	struct unwind_rule rule;
	bool found = scan_rule(state, &rule);
	int32_t words[] = {
		state->flags & SCAN_SP ? -state->sp : INT32_MIN,
		state->flags & SCAN_FP ? -state->fp : INT32_MIN,
		!found                   ? INT32_MIN
		: rule.ra.how == RULE_AT ? rule.ra_offset
					 : 0,
		found && rule.fp.how == RULE_AT ? rule.fp_offset : 0,
		!state->guess,
	};

	fwrite(words, sizeof(words), 1, stdout);
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	long offset = strtol(argv[2], NULL, 0);
	struct scan_text text = {0};
	struct stat status;
	uint64_t start;
	size_t count;

	if ((argc != 3 && argc != 6) || fstat(fd, &status))
		return 2;
	const uint8_t *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (argc == 6)
		text = (struct scan_text){.address = strtoul(argv[3], NULL, 0),
					  .size = strtoul(argv[4], NULL, 0),
					  .anchor = strtoul(argv[5], NULL, 0)};
	text.bytes = image + offset + text.address;
	while (scanf("%" SCNx64 " %zu", &start, &count) == 2) {
		struct scan_code code = {image + offset + start, start, count, false};

		if (argc == 6)
			scan_place(&text, start, &code);
		struct scan_state *states = calloc(code.count, sizeof(*states));

		scan_run(&code, states);
		for (size_t i = 0; i < count; i++)
			write_state(&states[(start - code.address) / 4 + i]);
		free(states);
	}
}
