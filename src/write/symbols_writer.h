/*
 * Writes the payload of a symbols chunk, behind its storage byte: docs/trace-format.md, section
 * 9.3. Module after module, of each its positions by rising address:
 *
 *	symbols_writer_position(&writer, address, symbols, count);
 *	…
 *	symbols_writer_module(&writer, path, build_id, build_id_size);
 *	…
 *	symbols_writer_finish(&writer, &payload);
 */
#ifndef MALLOW_WRITE_SYMBOLS_WRITER_H
#define MALLOW_WRITE_SYMBOLS_WRITER_H

#include "hosted/buf.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "symbols/symbolizer.h"

#define SYMBOLS_VERSION 1

/*
 * The position of a module's note, an address at which no code lies: its symbol's name is the note.
 * Readers that do not know it never ask for that address.
 */
#define SYMBOLS_NOTE UINT64_MAX

/* Kinds of modules. */
enum symbols_module_kind {
	SYMBOLS_NO_MODULE = 0, /* code made at run time; addresses are the process's */
	SYMBOLS_FILE = 1,      /* addresses in the file */
};

/* Zeroed but for what symbols_writer_init() sets: empty. */
struct symbols_writer {
	struct intern names;
	struct map numbers; /* from the address of an interned name to its number, from 1 */
	struct buf strings; /* the table of strings, as it is written */
	struct buf modules; /* all modules */
	struct buf module;  /* the positions of the module being written */
	uint64_t module_count;
	uint64_t positions; /* of the module being written */
	uint64_t last;      /* the address of the last of them */
};

void symbols_writer_init(struct symbols_writer *writer);
void symbols_writer_deinit(struct symbols_writer *writer);

/* Adds a position to the present module: its symbols, the innermost function first. */
struct err *symbols_writer_position(struct symbols_writer *writer, uint64_t address,
				    const struct symbol *symbols, size_t count);

/* Ends the module, which is left out if it has no position. path NULL: of code in no module. */
struct err *symbols_writer_module(struct symbols_writer *writer, const char *path,
				  const uint8_t *build_id, size_t build_id_size);

/* Appends all modules to ret, a buffer in memory; nothing if there is none. */
struct err *symbols_writer_finish(struct symbols_writer *writer, struct buf *ret);

#endif
