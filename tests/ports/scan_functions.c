/*
 * What the scanner says of code, in which a table says what is true: scan_functions FILE OFFSET,
 * and on standard input "start count" lines, hexadecimal and decimal: functions and their
 * SCAN_UNITs. FILE's byte OFFSET + start is where one lies. Or scan_functions FILE OFFSET TEXT SIZE
 * ANCHOR and "address count" lines: as the agent does it for an address, which knows no function's
 * start. ANCHOR is what struct scan_text has, or 0 and 1 for ARM and Thumb code, whose marks are
 * made of lines before the others: "address -1", known to the data, and "address -2 size", symbols.
 * Bit 0 of ARM's starts: Thumb code.
 *
 * For each unit it writes six numbers of 4 bytes: the distances of the CFA from sp and the frame
 * pointer (INT32_MIN: not known), where the return address lies from the CFA (0: in a register;
 * INT32_MIN: there is no rule), where the caller's fp and the second one (0: not saved), and 1:
 * that is sure, 2: the frame pointer is the second one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cfi/abi.h"
#include "cfi/scan.h"

#include CFI_FILE(scan_cpu.h)

static void write_state(const struct scan_state *state)
{
	struct unwind_rule rule;
	bool found = scan_rule(state, &rule);
	struct rule_place second;
	int32_t words[] = {
		state->flags & SCAN_SP ? -state->sp : INT32_MIN,
		state->flags & SCAN_FP ? -state->fp : INT32_MIN,
		!found                   ? INT32_MIN
		: rule.ra.how == RULE_AT ? rule.ra_offset
					 : 0,
		found && rule.fp.how == RULE_AT ? rule.fp_offset : 0,
		0,
		!state->guess | (state->flags & SCAN_BY_FP2 ? 2 : 0),
	};

	scan_saved_place(state, SCAN_SAVED_FP2, &second, &words[4]);
	fwrite(words, sizeof(words), 1, stdout);
}

#ifdef SCAN_MARKS
static void mark(const struct scan_text *text, uint64_t address, long how)
{
	unsigned long size;

	if (how == -1)
		scan_mark_start(text, address);
	else if (scanf("%lu", &size) == 1)
		scan_mark_symbol(text, address, size);
}

static void begin_marks(struct scan_text *text)
{
	text->thumb = text->anchor;
	text->marks = calloc(1, scan_marks_size(text));
	scan_mark_calls(text);
}
#else
static void mark(const struct scan_text *text, uint64_t address, long how)
{
}

static void begin_marks(struct scan_text *text)
{
}
#endif

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	long offset = strtol(argv[2], NULL, 0), count;
	struct scan_text text = {0};
	struct stat status;
	uint64_t start;

	if ((argc != 3 && argc != 6) || fstat(fd, &status))
		return 2;
	const uint8_t *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (argc == 6) {
		text = (struct scan_text){.address = strtoul(argv[3], NULL, 0),
					  .size = strtoul(argv[4], NULL, 0),
					  .anchor = strtoul(argv[5], NULL, 0)};
		text.bytes = image + offset + text.address;
		begin_marks(&text);
	}
	while (scanf("%" SCNx64 " %ld", &start, &count) == 2) {
		if (count < 0) {
			mark(&text, start, count);
			continue;
		}
		uint64_t thumb = start % SCAN_UNIT & 1;
		struct scan_code code = {.bytes = image + offset + (start - thumb),
					 .address = start - thumb,
					 .count = (size_t)count,
					 .thumb = thumb};

		if (argc == 6)
			scan_place(&text, start - thumb, &code);
		struct scan_state *states = calloc(code.count, sizeof(*states));

		scan_run(&code, states);
		for (long i = 0; i < count; i++)
			write_state(&states[(start - code.address) / SCAN_UNIT + (size_t)i]);
		free(states);
	}
}
