/*
 * Where a command writes to: standard output, or the file of -o. The file gets its name only when
 * it is complete.
 */
#ifndef MALLOW_CLI_OUTPUT_OUTPUT_H
#define MALLOW_CLI_OUTPUT_OUTPUT_H

#include "cli/options/options.h"
#include "hosted/buf.h"

struct output {
	struct buf buf;
	int fd;
	char *path;          /* NULL: standard output */
	char *temporary;     /* NULL: written directly to path (a device, a pipe) */
	struct pager *pager; /* NULL: none */
};

/*
 * false: the file that the option of that id names is one of the operands, and writing it would
 * destroy a recording; an error was printed.
 */
bool output_spares(const struct options *options, size_t id);

/*
 * path NULL or "-": standard output. The buf is for text that people read, and lets no hidden
 * character through (buf.shown); who writes anything else switches that off.
 */
struct err *output_open(const char *path, struct output *ret);

/* From now on nothing is paged (--no-pager). */
void output_forbid_pager(void);

/* As output_open(NULL), for a page that people read: what is longer than the terminal is paged. */
struct err *output_open_page(struct output *ret);

/*
 * Writes the rest and gives the file its name, unless err is set. Returns the first error; err is
 * owned.
 */
struct err *output_close(struct output *output, struct err *err);

#endif
