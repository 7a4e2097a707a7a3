/*
 * Writes recordings for tests, byte by byte from docs/trace-format.md and independent of the
 * agent's encoder, so that writer and reader cannot share a mistake. Also writes what no agent
 * would. No memory: the test aborts.
 *
 *	struct trace_writer writer;
 *	trace_writer_init(&writer);
 *	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
 *	trace_writer_frame(&writer, 1, 0x1001, 0);
 *	trace_writer_push(&writer, 0, 1, 1);            // the next operation's stack change
 *	trace_writer_allocate(&writer, 1, 10, 0x5000, 100);
 *	trace_writer_seal(&writer);
 */
#ifndef MALLOW_TESTS_TRACE_WRITER_H
#define MALLOW_TESTS_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_writer {
	uint8_t *data;
	size_t size, capacity;

	/* The open chunk. */
	size_t chunk; /* its offset */
	bool slot;
	uint64_t base, time, address;

	uint8_t change[4096]; /* a stack change for the next operation */
	size_t change_size;
};

enum trace_writer_role { TRACE_WRITER_SLOT = 1, TRACE_WRITER_SEALED = 2 };

/* Starts with a header: TSC ticks from 1000 at 5,000,000 ns, glibc, ended by exit. */
void trace_writer_init(struct trace_writer *writer);
void trace_writer_deinit(struct trace_writer *writer);

/* Overwrites bytes anywhere, most often in the header. */
void trace_writer_poke(struct trace_writer *writer, size_t offset, uint64_t value, size_t size);

/* Opens a chunk with base 1000 ticks, carried 0 and the header's clock pair. */
void trace_writer_chunk(struct trace_writer *writer, uint32_t stream, uint32_t sequence,
			enum trace_writer_role role);
void trace_writer_base(struct trace_writer *writer, uint64_t ticks);
void trace_writer_carried(struct trace_writer *writer, uint32_t frames);
void trace_writer_clock(struct trace_writer *writer, uint64_t ticks, uint64_t monotonic_ns);
/* Closes it: commit word, padding to 4096 bytes, trailer. */
void trace_writer_seal(struct trace_writer *writer);

void trace_writer_byte(struct trace_writer *writer, uint8_t byte);
void trace_writer_varint(struct trace_writer *writer, uint64_t value);
void trace_writer_signed(struct trace_writer *writer, int64_t value);

/* A stack change that goes into the next operation: ids follow, outer before inner. */
void trace_writer_push(struct trace_writer *writer, uint64_t drop, unsigned int push, ...);
/* The same with bare pcs. */
void trace_writer_push_pcs(struct trace_writer *writer, uint64_t drop, unsigned int push, ...);

void trace_writer_allocate(struct trace_writer *writer, uint8_t operation, uint64_t dt,
			   uint64_t address, uint64_t size);
void trace_writer_allocate_extra(struct trace_writer *writer, uint8_t operation, uint64_t dt,
				 uint64_t address, uint64_t size, uint64_t extra);
void trace_writer_allocate_aligned(struct trace_writer *writer, uint8_t operation, uint64_t dt,
				   uint64_t address, uint64_t size, uint64_t alignment);
void trace_writer_realloc(struct trace_writer *writer, uint8_t operation, uint64_t dt,
			  uint64_t duration, uint64_t old_address, uint64_t address, uint64_t size);
void trace_writer_free(struct trace_writer *writer, uint8_t operation, uint64_t dt,
		       uint64_t address);
void trace_writer_stack(struct trace_writer *writer);
void trace_writer_time(struct trace_writer *writer, uint8_t operation, uint64_t ticks);

/*
 * A record of section 4.2, field by field: u uint64_t, s int64_t as zigzag, t const char * that
 * fills the rest, b const char * with its length in front.
 */
void trace_writer_record(struct trace_writer *writer, uint8_t kind, const char *format, ...);

void trace_writer_frame(struct trace_writer *writer, uint64_t id, uint64_t pc, uint64_t module);
void trace_writer_module(struct trace_writer *writer, uint64_t ticks, uint64_t id, uint64_t bias,
			 uint64_t start, uint64_t end, const char *path);
/* An end record at these ticks. */
void trace_writer_end(struct trace_writer *writer, uint64_t ticks, uint64_t monotonic_ns);

#endif
