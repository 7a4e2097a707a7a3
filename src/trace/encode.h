/*
 * Writes records as docs/trace-format.md lays them out. Each function writes at p and returns the
 * position behind what it wrote. Used by the agent's hot path, so there are no checks: the caller
 * makes sure of the room (the *_MAX sizes).
 */
#ifndef MALLOW_TRACE_ENCODE_H
#define MALLOW_TRACE_ENCODE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/varint.h"
#include "trace/format.h"

/* The last values written: records hold differences from them (section 4). */
struct trace_encoder {
	uint64_t time;
	uint64_t address;
	uint32_t heap_flags;
};

/*
 * The most bytes of a core record without its stack change, and of a stack change that pushes n
 * frames.
 */
#define TRACE_CORE_MAX            (1 + 7 * VARINT_MAX)
#define TRACE_STACK_CHANGE_MAX(n) (1 + 2 * VARINT_MAX + (size_t)(n) * (1 + VARINT_MAX))

/* Writes address as its difference from *before, the encoder's last address, and puts it there. */
static inline uint8_t *trace_put_address(uint8_t *p, uint64_t *before, uint64_t address)
{
	int64_t delta = (int64_t)(address - *before);

	*before = address;
	if ((delta & 15) == 0)
		return varint_put(p, zigzag(delta >> 4) << 1);
	return varint_put(p, zigzag(delta) << 1 | 1);
}

/* time must not be earlier than the encoder's; to step back write a time record first. */
static inline uint8_t *trace_put_time(uint8_t *p, struct trace_encoder *encoder, uint64_t time)
{
	p = varint_put(p, time - encoder->time);
	encoder->time = time;
	return p;
}

/* Writes the counts of a stack change. The frames follow, by trace_put_frame(). */
static inline uint8_t *trace_put_stack_change(uint8_t *p, uint64_t drop, uint64_t push)
{
	*p++ = (uint8_t)((drop < 15 ? drop : 15) | (push < 15 ? push : 15) << 4);
	if (drop >= 15)
		p = varint_put(p, drop - 15);
	if (push >= 15)
		p = varint_put(p, push - 15);
	return p;
}

/*
 * id 0: the frame has no definition, so its pc is written. Nothing foretells whether an id takes
 * one byte or two, so there is no branch on that: two bytes are written, and the position returned
 * says whether both count.
 */
static inline uint8_t *trace_put_frame(uint8_t *p, uint32_t id, uint64_t pc)
{
	bool two = id >= 0x80;

	if (__builtin_expect(id - 1 >= 0x3fff, 0)) {
		p = varint_put(p, id);
		return id ? p : varint_put(p, pc);
	}
	p[0] = (uint8_t)(id | two << 7);
	p[1] = (uint8_t)(id >> 7);
	return p + 1 + two;
}

static inline uint64_t trace_extra(uint64_t slack, uint32_t heap_flags)
{
	return slack << 2 | heap_flags;
}

#endif
