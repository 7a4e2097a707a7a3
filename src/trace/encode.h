/*
 * Writing records as docs/trace-format.md lays them out: bytes in, position behind them out. Used
 * by the agent's hot path, so: no checks, the caller has made sure of the room (the *_MAX sizes).
 */
#ifndef MALLOW_TRACE_ENCODE_H
#define MALLOW_TRACE_ENCODE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/varint.h"
#include "trace/format.h"

/* The state that records count from, section 4. */
struct trace_encoder {
	uint64_t time;
	uint64_t address;
	uint32_t heap_flags;
};

/* The longest core record without its stack change, and a stack change for n frames. */
#define TRACE_CORE_MAX            (1 + 7 * VARINT_MAX)
#define TRACE_STACK_CHANGE_MAX(n) (1 + 2 * VARINT_MAX + (size_t)(n) * (1 + VARINT_MAX))

/* before: the address of the encoder, which becomes the new one. */
static inline uint8_t *trace_put_address(uint8_t *p, uint64_t *before, uint64_t address)
{
	int64_t delta = (int64_t)(address - *before);

	*before = address;
	if ((delta & 15) == 0)
		return varint_put(p, zigzag(delta >> 4) << 1);
	return varint_put(p, zigzag(delta) << 1 | 1);
}

/* time must not lie before the encoder's: write a time record first. */
static inline uint8_t *trace_put_time(uint8_t *p, struct trace_encoder *encoder, uint64_t time)
{
	p = varint_put(p, time - encoder->time);
	encoder->time = time;
	return p;
}

/* The head of a stack change; the frames follow by trace_put_frame(). */
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
 * id 0: the frame has no definition, its pc is written. Whether an id takes one byte or two cannot
 * be foretold: both are written.
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
