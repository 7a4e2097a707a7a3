/* Bytes of an interpreter's strings, in memory that can be read. */
#ifndef MALLOW_AGENT_SCRIPT_SCRIPT_TEXT_H
#define MALLOW_AGENT_SCRIPT_SCRIPT_TEXT_H

#include "agent/script/script_runtime.h"
#include "agent/ground/libc.h"
#include "agent/unwind/stack_bounds.h"
#include "trace/checksum.h"

#define SCRIPT_TEXT_MAX 65536 /* so much of one is read */

struct script_bytes {
	const char *start; /* NULL: there are none, or they cannot be read */
	size_t size;
};

#define SCRIPT_BYTES(literal) ((struct script_bytes){(literal), sizeof(literal) - 1})

/* Those at an address, as many as are read of them. */
static inline struct script_bytes script_bytes_at(const struct unwind_stack *stack, uint64_t start,
						  uint64_t size)
{
	struct script_bytes ret = {0};

	if (size > SCRIPT_TEXT_MAX)
		size = SCRIPT_TEXT_MAX;
	if (stack_bounds_can_read(stack, start, start + size + 1))
		ret = (struct script_bytes){(const char *)(uintptr_t)start, size};
	return ret;
}

/* A hash of a number and of texts, one after the other; never 0. */
static inline uint64_t script_bytes_hash(uint32_t number, const struct script_bytes *texts,
					 size_t count)
{
	XXH64_state_t state;

	XXH64_reset(&state, number);
	for (size_t i = 0; i < count; i++) {
		uint64_t size = texts[i].size;

		XXH64_update(&state, &size, sizeof(size));
		if (size)
			XXH64_update(&state, texts[i].start, size);
	}
	return XXH64_digest(&state) | 1;
}

static inline bool script_bytes_end(struct script_bytes bytes, const char *end)
{
	size_t size = strlen(end);

	return bytes.size >= size && memcmp(bytes.start + bytes.size - size, end, size) == 0;
}

/* Copies them up to the first NUL, and no half of a character. Returns how many. */
static inline size_t script_bytes_copy(struct script_bytes bytes, char *to, size_t room)
{
	size_t size = 0;

	while (size < bytes.size && size < room && bytes.start[size]) {
		to[size] = bytes.start[size];
		size++;
	}
	if (size == room && size < bytes.size)
		while (size && (bytes.start[size] & 0xc0) == 0x80)
			size--;
	return size;
}

#endif
