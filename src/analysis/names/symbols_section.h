/*
 * Reads the names of frames that a finished recording has: docs/trace-format.md, section "symbols".
 * write/symbols_writer.h writes them.
 *
 *	strings    each once, ended by NUL; referred to by number from 1, 0 is none
 *	modules    a path and a build id each, and the addresses in its file that have names:
 *	             address (the difference to the one before), offset, symbols of it
 *
 * The bytes are not trusted: all are checked before any is used.
 */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLS_SECTION_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLS_SECTION_H

#include "hosted/err.h"
#include "symbols/symbolizer.h"
#include "write/symbols_writer.h"

struct symbols_section;

/*
 * Opens the section in data, which must outlive it. An error: it is damaged (the message says
 * where), or no memory.
 */
struct err *symbols_section_open(const uint8_t *data, size_t size, struct symbols_section **ret);
/* Accepts NULL. */
void symbols_section_close(struct symbols_section *section);

/* The index of a module; UINT32_MAX: it has no names here. path NULL: SYMBOLS_NO_MODULE. */
uint32_t symbols_section_module(const struct symbols_section *section, const char *path,
				const uint8_t *build_id, size_t build_id_size);

/*
 * As symbol_module_find(), but *count is 0 if the section has nothing. *ret is valid until the next
 * call; its strings live as long as data.
 */
struct err *symbols_section_find(struct symbols_section *section, uint32_t module, uint64_t address,
				 const struct symbol **ret, size_t *count);

/*
 * What was wrong with the file when its names were packed; NULL: nothing. *named: the module has
 * names here. The text lives as long as data.
 */
const char *symbols_section_note(const struct symbols_section *section, uint32_t module,
				 bool *named);

#endif
