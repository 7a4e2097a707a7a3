/*
 * Writes .eh_frame and .debug_frame for tests. Every CIE says the usual: CFA = rsp + 8, the return
 * address at CFA - 8. Offsets of entries are counted from the section's start.
 */
#ifndef MALLOW_TESTS_FRAME_WRITER_H
#define MALLOW_TESTS_FRAME_WRITER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cfi/eh_entry.h"

#define FRAME_BYTES_MAX (1u << 16)

struct frame_writer {
	enum eh_format format;
	uint64_t address; /* of the section */
	bool wide;        /* lengths have 64 bits */
	size_t size;
	uint8_t bytes[FRAME_BYTES_MAX];
};

static inline void frame_put(struct frame_writer *writer, const void *bytes, size_t size)
{
	assert(size <= sizeof(writer->bytes) - writer->size);
	memcpy(writer->bytes + writer->size, bytes, size);
	writer->size += size;
}

/* The size lower bytes of a number. */
static inline void frame_number(struct frame_writer *writer, uint64_t value, size_t size)
{
	frame_put(writer, &value, size);
}

/* Begins an entry and returns its offset. */
static inline size_t frame_begin(struct frame_writer *writer)
{
	size_t start = writer->size;

	if (writer->wide)
		frame_number(writer, 0xffffffff, 4);
	frame_number(writer, 0, writer->wide ? 8 : 4);
	return start;
}

/* Ends the entry at that offset: pads it, and writes its length. */
static inline void frame_end(struct frame_writer *writer, size_t start)
{
	size_t head = writer->wide ? 12 : 4;
	uint64_t length;

	while (writer->size % 8 != 0)
		frame_number(writer, 0, 1);
	length = writer->size - start - head;
	memcpy(writer->bytes + start + (writer->wide ? 4 : 0), &length,
	       head - (writer->wide ? 4 : 0));
}

/* The id of a CIE, or the place of one, as it is written in an entry. */
static inline void frame_id(struct frame_writer *writer, bool is_cie, size_t cie)
{
	uint64_t id = is_cie ? 0 : writer->size - cie;

	if (writer->format == EH_FORMAT_DEBUG_FRAME) {
		id = is_cie ? UINT64_MAX : cie;
		frame_number(writer, id, writer->wide ? 8 : 4);
	} else {
		frame_number(writer, id, 4);
	}
}

/* signal: of the frame that a signal handler returns to. Returns the CIE's offset. */
static inline size_t frame_cie(struct frame_writer *writer, bool signal)
{
	static const uint8_t body[] = {1, 0x78, 16}; // code and data alignment, return address
	static const uint8_t initial[] = {0x0c, 7, 8, 0x80 | 16, 1};
	size_t start = frame_begin(writer);

	frame_id(writer, true, 0);
	frame_number(writer, 1, 1);
	if (writer->format == EH_FORMAT_EH_FRAME)
		frame_put(writer, signal ? "zRS" : "zR", signal ? 4 : 3);
	else
		frame_put(writer, signal ? "S" : "", signal ? 2 : 1);
	frame_put(writer, body, sizeof(body));
	if (writer->format == EH_FORMAT_EH_FRAME) {
		frame_number(writer, 1, 1);
		frame_number(writer, EH_PE_PCREL | EH_PE_SDATA4, 1);
	}
	frame_put(writer, initial, sizeof(initial));
	frame_end(writer, start);
	return start;
}

/* An FDE for size bytes of code at start. Returns its offset. */
static inline size_t frame_fde(struct frame_writer *writer, size_t cie, uint64_t start,
			       uint64_t size, const void *code, size_t code_size)
{
	size_t entry = frame_begin(writer);

	frame_id(writer, false, cie);
	if (writer->format == EH_FORMAT_EH_FRAME) {
		frame_number(writer, start - (writer->address + writer->size), 4);
		frame_number(writer, size, 4);
		frame_number(writer, 0, 1);
	} else {
		frame_number(writer, start, 8);
		frame_number(writer, size, 8);
	}
	frame_put(writer, code, code_size);
	frame_end(writer, entry);
	return entry;
}

/* The same with instructions as arguments; frame_plain() has none. */
#define FRAME_FDE(writer, cie, start, size, ...)                                                   \
	frame_fde((writer), (cie), (start), (size), (const uint8_t[]){__VA_ARGS__},                \
		  sizeof((const uint8_t[]){__VA_ARGS__}))

static inline size_t frame_plain(struct frame_writer *writer, size_t cie, uint64_t start,
				 uint64_t size)
{
	return frame_fde(writer, cie, start, size, "", 0);
}

#endif
