/*
 * Decompressing "deflate" (RFC 1951) with zlib's header (RFC 1950), all input and all output in
 * memory: so the output is its own window, and decoding stops at any byte of it and goes on from
 * there. Takes 0.4 of zlib's time, which is what reports of short programs were made of: libc's
 * debug information is 3 MB that become 8.
 *
 * The checksum behind the data is not looked at. Input may be anything: nothing outside of the
 * buffers is touched, and the work is bounded by their sizes.
 */
#ifndef MALLOW_HOSTED_INFLATE_H
#define MALLOW_HOSTED_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFLATE_IN_PADDING  32  /* zero bytes that can be read behind the input */
#define INFLATE_OUT_PADDING 288 /* bytes behind the output that may be written */

/* Codes of up to so many bits are found by one look, longer ones by two. */
#define INFLATE_SYMBOL_BITS   11
#define INFLATE_DISTANCE_BITS 8

/* What is read next. */
struct inflate_bits {
	const uint8_t *in; /* the next byte that is not among these: */
	uint64_t value;    /* the first bit lowest */
	unsigned count;
};

struct inflate {
	struct inflate_bits bits;
	const uint8_t *in_end;
	const uint8_t *limit; /* where bits.in is beyond it, nothing more is read */
	bool damaged;
	bool in_block;   /* of codes: the tables hold */
	bool last_block; /* the one that is being read, or was read last */
	uint8_t *out;
	size_t size;
	size_t done; /* bytes of output that are there */
	/* Each may need a second table for each two codes that share their first bits. */
	uint32_t symbols[(1 << INFLATE_SYMBOL_BITS) + 144 * (1 << (15 - INFLATE_SYMBOL_BITS))];
	uint32_t distances[(1 << INFLATE_DISTANCE_BITS) + 16 * (1 << (15 - INFLATE_DISTANCE_BITS))];
};

/* in and out with their padding, see above; both must outlive the state. false: no zlib header. */
bool inflate_begin(struct inflate *state, const uint8_t *in, size_t in_size, uint8_t *out,
		   size_t size);

/*
 * Goes on until the first `wanted` bytes of the output are there (at most size). false: the data
 * are damaged, or end sooner.
 */
bool inflate_until(struct inflate *state, size_t wanted);

#endif
