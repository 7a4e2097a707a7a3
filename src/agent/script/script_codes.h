/*
 * What a thread knows of code objects: a hash of what each says. Their memory is used again for
 * others as soon as they are gone, so the words that tell one from another are compared each time.
 */
#ifndef MALLOW_AGENT_SCRIPT_SCRIPT_CODES_H
#define MALLOW_AGENT_SCRIPT_SCRIPT_CODES_H

#include "agent/script/script_runtime.h"
#include "base/compiler.h"

#define SCRIPT_CODES 512 /* as many as a thread remembers: a power of two */

/* Where those words lie in a code object, and two halves of words; SCRIPT_NONE: it has none. */
struct script_code_words {
	int file, name, lines;
	int first_line, version;
};

struct script_code {
	uint64_t address;
	uint64_t file, name, lines;
	uint32_t first_line, version;
	uint64_t hash;
};

struct script_codes {
	struct script_code known[SCRIPT_CODES];
};

static inline struct script_code *script_codes_pair(struct script_codes *codes, uint64_t code)
{
	return &codes->known[code * UINT64_C(0x9e3779b97f4a7c15) >> 40 & (SCRIPT_CODES - 2)];
}

/* The hash of a code object that can be read, as it was learned. 0: it is not known. */
static inline uint64_t script_codes_find(const struct script_code_words *words,
					 struct script_codes *codes, uint64_t code)
{
	const struct script_code *pair = script_codes_pair(codes, code);
	const struct script_code *is = pair + (pair->address != code);

	return likely(is->address == code && is->file == script_word(code, words->file) &&
		      is->name == script_word(code, words->name) &&
		      is->lines == script_word(code, words->lines) &&
		      is->first_line == script_half(code, words->first_line) &&
		      (words->version == SCRIPT_NONE ||
		       is->version == script_half(code, words->version)))
		       ? is->hash
		       : 0;
}

/* Learns the words of a code object that can be read. The caller sets its hash. */
static inline struct script_code *script_codes_learn(const struct script_code_words *words,
						     struct script_codes *codes, uint64_t code)
{
	struct script_code *known = script_codes_pair(codes, code);

	if (known->address != code)
		known[1] = *known;
	known->address = code;
	known->file = script_word(code, words->file);
	known->name = script_word(code, words->name);
	known->lines = script_word(code, words->lines);
	known->first_line = script_half(code, words->first_line);
	known->version = words->version == SCRIPT_NONE ? 0 : script_half(code, words->version);
	known->hash = 0;
	return known;
}

/*
 * Where the last look into a table of lines ended, so that the next one in the same table, at the
 * same place or behind it, goes on from there: a module may be one table of 100,000 entries, of
 * which each is asked for once. Zero: nowhere.
 */
struct script_lines {
	uint64_t code; /* its hash */
	uint64_t at;   /* bytes of the table */
	int32_t next;  /* offset in the code */
	uint32_t line;
};

/* What a frame shows: of its function and place a hash, never 0. */
static inline uint64_t script_place_hash(uint64_t code, uint32_t place)
{
	return (code ^ (place + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15)) *
	       UINT64_C(0xff51afd7ed558ccd);
}

#endif
