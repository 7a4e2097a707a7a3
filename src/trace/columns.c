#include "trace/columns.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "trace/cursor.h"
#include "trace/format.h"

/*
 * Splitting and joining are one walk over the records, which moves bytes between the payload and
 * the columns. `split` says in which direction; it is a constant once inlined.
 */
struct walk {
	struct columns columns; /* a copy, which lives in registers: nothing takes its address */
	uint8_t *at;            /* in the payload */
	uint8_t *end;           /* of the payload */
};

#define walk_inline static inline __attribute__((__always_inline__))

walk_inline uint8_t move_byte(struct walk *walk, enum columns_kind kind, bool split)
{
	uint8_t **from = split ? &walk->at : &walk->columns.at[kind];
	uint8_t **to = split ? &walk->columns.at[kind] : &walk->at;

	return *(*to)++ = *(*from)++;
}

/*
 * Moves one varint by copying eight bytes at once; what comes next overwrites the bytes copied too
 * much. A loop over the varint's bytes would cost a mispredicted branch, because nothing foretells
 * where it ends. False: it is longer than any varint.
 */
walk_inline bool move_varint(struct walk *walk, enum columns_kind kind, bool split)
{
	uint8_t **from = split ? &walk->at : &walk->columns.at[kind];
	uint8_t **to = split ? &walk->columns.at[kind] : &walk->at;
	uint64_t eight = bytes_u64(*from), ends = ~eight & 0x8080808080808080ull;
	int size = ends ? (__builtin_ctzll(ends) >> 3) + 1 : 8;

	bytes_put_u64(*to, eight);
	*from += size;
	*to += size;
	if (likely(ends))
		return true;
	for (int i = 8; i < VARINT_MAX; i++) {
		if (!(move_byte(walk, kind, split) & 0x80))
			return true;
	}
	return false;
}

/*
 * How many bytes are left in the buffer that bytes are taken from; 0 also if it was read beyond its
 * end.
 */
walk_inline size_t left(const struct walk *walk, enum columns_kind kind, bool split)
{
	const uint8_t *at = split ? walk->at : walk->columns.at[kind];
	const uint8_t *end = split ? walk->end : walk->columns.end[kind];

	return at < end ? (size_t)(end - at) : 0;
}

/* Moves a varint and returns its value. False: there is no whole varint. */
walk_inline bool move_number(struct walk *walk, enum columns_kind kind, bool split, uint64_t *ret)
{
	const uint8_t *at = split ? walk->at : walk->columns.at[kind];
	struct cursor cursor = cursor_make(at, left(walk, kind, split));

	*ret = cursor_varint(&cursor);
	return !cursor.failed && move_varint(walk, kind, split);
}

walk_inline bool in_payload(const struct walk *walk)
{
	return walk->at <= walk->end;
}

walk_inline bool move_change(struct walk *walk, bool split)
{
	uint8_t change = move_byte(walk, COLUMNS_CHANGE, split);
	uint64_t push = change >> 4, more = 0;

	if ((change & 15) == 15 && !move_varint(walk, COLUMNS_CHANGE, split))
		return false;
	if (push == 15 && !move_number(walk, COLUMNS_CHANGE, split, &more))
		return false;
	push += more;
	for (; push; push--) {
		bool bare = *(split ? walk->at : walk->columns.at[COLUMNS_FRAME]) == 0;

		// A stack change may have many frames: COLUMNS_SLACK would not cover all of them.
		if (unlikely(!in_payload(walk) || !left(walk, COLUMNS_FRAME, split)))
			return false;
		if (!move_varint(walk, COLUMNS_FRAME, split) ||
		    (bare && !move_varint(walk, COLUMNS_FRAME, split)))
			return false;
	}
	return in_payload(walk);
}

/* The fields of a record about a block. Moves at most COLUMNS_SLACK bytes. */
walk_inline bool move_block(struct walk *walk, uint8_t first, bool split)
{
	uint8_t op = first & TRACE_OP_MASK;
	bool two = op == TRACE_OP_REALLOC || op == TRACE_OP_REALLOCARRAY;
	bool good = move_varint(walk, COLUMNS_TIME, split);

	if (two)
		good = good && move_varint(walk, COLUMNS_TIME, split) &&
		       move_varint(walk, COLUMNS_ADDRESS, split);
	good = good && move_varint(walk, COLUMNS_ADDRESS, split);
	if (op >= TRACE_OP_FREE)
		return good;
	good = good && move_varint(walk, COLUMNS_SIZE, split);
	switch (op) {
#define ENTRY(number, NAME, name, aligned)                                                         \
	case number:                                                                               \
		good = good && (!(aligned) || move_varint(walk, COLUMNS_SIZE, split));             \
		break;
#include "trace/entries.def"
#undef ENTRY
	}
	return good && (!(first & TRACE_EXTRA) || move_varint(walk, COLUMNS_SIZE, split));
}

walk_inline bool move_other(struct walk *walk, bool split)
{
	uint64_t length;

	if (!move_number(walk, COLUMNS_OTHER, split, &length) || !in_payload(walk) ||
	    length > (size_t)(walk->end - walk->at) || length > left(walk, COLUMNS_OTHER, split))
		return false;
	if (split)
		__builtin_memcpy(walk->columns.at[COLUMNS_OTHER], walk->at, length);
	else
		__builtin_memcpy(walk->at, walk->columns.at[COLUMNS_OTHER], length);
	walk->at += length;
	walk->columns.at[COLUMNS_OTHER] += length;
	return true;
}

/* Moves one record. False: there is none, or it is damaged. */
walk_inline bool move_record(struct walk *walk, bool split)
{
	uint8_t first = move_byte(walk, COLUMNS_FIRST, split), op = first & TRACE_OP_MASK;

	if (first & TRACE_OTHER)
		return move_other(walk, split);
	if (!op || op > TRACE_OP_RESYNC || (first & TRACE_EXTRA && op > TRACE_OP_REALLOCARRAY))
		return false;
	if (first & TRACE_STACK_CHANGE && !move_change(walk, split))
		return false;
	if (op <= TRACE_OP_DELETE_ARRAY)
		return move_block(walk, first, split);
	return op == TRACE_OP_STACK || move_varint(walk, COLUMNS_TIME, split);
}

/*
 * The fast path of splitting, for nearly all records. Moving varint by varint, each would wait for
 * the size of the one before. Instead one load of eight bytes tells where the first few varints
 * end, and bytes that are neighbours in the payload and in their column are moved as one piece.
 */
#define QUICK_FRAMES 4 /* how many frames are moved at once */

/*
 * How many varints follow the stack change: one of time, one of address, the rest of size. Index:
 * the record's first byte without TRACE_STACK_CHANGE. 0: a rare record, which takes the slow path.
 */
static const uint8_t quick_fields[256] = {
#define ENTRY(number, NAME, name, aligned)                                                         \
	[number] = (aligned) ? 4 : 3, [number | TRACE_EXTRA] = (aligned) ? 0 : 4,
#include "trace/entries.def"
#undef ENTRY
	[TRACE_OP_FREE] = 2,
	[TRACE_OP_DELETE] = 2,
	[TRACE_OP_DELETE_ARRAY] = 2,
};

/* One bit for each byte of `eight` that ends a varint: its highest bit. */
walk_inline uint64_t ends_in(uint64_t eight)
{
	return ~eight & 0x8080808080808080ull;
}

walk_inline uint64_t without_first(uint64_t ends)
{
	return ends & (ends - 1);
}

/* How many bytes the first varint has; ends is not 0. */
walk_inline size_t size_to(uint64_t ends)
{
	return ((size_t)__builtin_ctzll(ends) >> 3) + 1;
}

/*
 * Moves the frames of a stack change. False: a frame has no id (a bare pc), or the varints are
 * long.
 */
walk_inline bool quick_frames(uint8_t **at, uint8_t **frames, unsigned int push)
{
	while (push) {
		unsigned int count = push < QUICK_FRAMES ? push : QUICK_FRAMES;
		uint64_t eight = bytes_u64(*at), ends = ends_in(eight);
		uint64_t zeros = (eight - 0x0101010101010101ull) & ends;

		for (unsigned int i = 1; i < count; i++)
			ends = without_first(ends);
		// A bare pc begins with id 0, a zero byte. Bits above the lowest one set mean
		// nothing.
		if (unlikely(!ends || zeros & (ends ^ (ends - 1))))
			return false;
		bytes_put_u64(*frames, eight);
		*at += size_to(ends);
		*frames += size_to(ends);
		push -= count;
	}
	return true;
}

/* Moves one record the fast way. False: the record is still to be moved, by move_record(). */
walk_inline bool quick_split(struct walk *walk)
{
	uint8_t *at = walk->at, *frames = walk->columns.at[COLUMNS_FRAME];
	uint8_t first = *at++, change = *at;
	unsigned int fields = quick_fields[first & ~TRACE_STACK_CHANGE];
	uint64_t eight, ends, second, last;
	size_t time, address;

	if (!fields)
		return false;
	if (first & TRACE_STACK_CHANGE) {
		at++;
		if (unlikely((change & 15) == 15 || change >> 4 == 15) ||
		    !quick_frames(&at, &frames, change >> 4))
			return false;
	}
	eight = bytes_u64(at);
	ends = ends_in(eight);
	last = second = without_first(ends);
	if (fields > 2)
		last = without_first(last);
	if (fields > 3)
		last = without_first(last);
	if (unlikely(!last))
		return false;
	time = size_to(ends);
	address = size_to(second);
	*walk->columns.at[COLUMNS_FIRST]++ = first;
	*walk->columns.at[COLUMNS_CHANGE] = change;
	walk->columns.at[COLUMNS_CHANGE] += first / TRACE_STACK_CHANGE & 1;
	walk->columns.at[COLUMNS_FRAME] = frames;
	bytes_put_u64(walk->columns.at[COLUMNS_TIME], eight);
	walk->columns.at[COLUMNS_TIME] += time;
	bytes_put_u64(walk->columns.at[COLUMNS_ADDRESS], bytes_u64(at + time));
	walk->columns.at[COLUMNS_ADDRESS] += address - time;
	bytes_put_u64(walk->columns.at[COLUMNS_SIZE], bytes_u64(at + address));
	walk->columns.at[COLUMNS_SIZE] += size_to(last) - address;
	walk->at = at + size_to(last);
	return true;
}

bool columns_split(struct columns *columns, const uint8_t *payload, size_t size)
{
	// The cast is safe: splitting only reads the payload.
	struct walk walk = {*columns, (uint8_t *)payload, (uint8_t *)payload + size};

	while (walk.at < walk.end) {
		if (!quick_split(&walk) && !move_record(&walk, true))
			return false;
	}
	*columns = walk.columns;
	return walk.at == walk.end;
}

/* Whether no column was read beyond its end. */
walk_inline bool columns_good(const struct walk *walk)
{
	const struct columns *c = &walk->columns;

#define GOOD(kind) (c->at[kind] <= c->end[kind])
	return GOOD(COLUMNS_FIRST) & GOOD(COLUMNS_CHANGE) & GOOD(COLUMNS_FRAME) &
	       GOOD(COLUMNS_TIME) & GOOD(COLUMNS_ADDRESS) & GOOD(COLUMNS_SIZE) &
	       GOOD(COLUMNS_OTHER);
#undef GOOD
}

size_t columns_join(struct columns *columns, uint8_t *payload, size_t size)
{
	struct walk walk = {*columns, payload, payload + size};
	uint8_t *good = payload;

	while (walk.at < walk.end && move_record(&walk, false) && in_payload(&walk) &&
	       columns_good(&walk))
		good = walk.at;
	*columns = walk.columns;
	return (size_t)(good - payload);
}
