/* The operands of `mallow diff`: "FILE", or what was live at a moment of it, "FILE@10s". */
#ifndef MALLOW_CLI_DIFF_OPERAND_H
#define MALLOW_CLI_DIFF_OPERAND_H

#include <stdbool.h>

struct diff_operand {
	char *path;         /* owned */
	const char *moment; /* as typed, points into the argument; NULL: the whole run */
};

/*
 * A file that is called like the whole operand is meant by it. Otherwise the moment is what is
 * behind the last '@'. false: it is no moment, or no memory; an error was printed.
 */
bool diff_operand_parse(const char *typed, struct diff_operand *ret);
/* Accepts a zeroed struct. */
void diff_operand_deinit(struct diff_operand *operand);

#endif
