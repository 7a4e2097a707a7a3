/* What import.c and the readers of formats.def share: a reader for each format. */
#ifndef MALLOW_IMPORT_READER_H
#define MALLOW_IMPORT_READER_H

#include "import/sink.h"
#include "import/text.h"

/* One file, decompressed. The reader takes its lines, or all of its bytes. */
struct import_input {
	const char *name;
	int fd;
	bool whole; /* it is not compressed, or its compressed data ends as it should */
	struct import_text text;
};

/* What the reader says of it. */
struct import_story {
	char origin[160]; /* what it is, for people: "heaptrack 1.4" */
	bool at_end;      /* it reaches to the end of the program */
};

#define FORMAT(id, name, text)                                                                     \
	/* Whether a file that begins with these bytes is such a one. */                           \
	bool read_##id##_knows(struct span head);                                                  \
	/* Reads it. story is zeroed. Malformed files: the error says where and what. */           \
	struct err *read_##id(struct import_input *input, struct import_sink *sink,                \
			      struct import_story *story);
#include "import/formats.def"
#undef FORMAT

#endif
