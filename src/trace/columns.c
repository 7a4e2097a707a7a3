#include "trace/columns.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "trace/cursor.h"
#include "trace/format.h"

/*
 * Taking apart and putting together are one walk over the records, which moves bytes between the
 * payload and the columns: `split` says in which direction, and is a constant once inlined.
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
 * Eight bytes at once, of which those behind the varint are overwritten by what comes next: where
 * it ends cannot be predicted, so a loop over its bytes would cost a mispredicted branch. False:
 * longer than any varint.
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

/* Where the next byte will be taken from, and how many are left there; 0 too if it went beyond. */
walk_inline size_t left(const struct walk *walk, enum columns_kind kind, bool split)
{
	const uint8_t *at = split ? walk->at : walk->columns.at[kind];
	const uint8_t *end = split ? walk->end : walk->columns.end[kind];

	return at < end ? (size_t)(end - at) : 0;
}

/* A varint whose value matters. False: there is none. */
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

		// Frames can be many: here the slack alone would not do.
		if (unlikely(!in_payload(walk) || !left(walk, COLUMNS_FRAME, split)))
			return false;
		if (!move_varint(walk, COLUMNS_FRAME, split) ||
		    (bare && !move_varint(walk, COLUMNS_FRAME, split)))
			return false;
	}
	return in_payload(walk);
}

/* At most COLUMNS_SLACK bytes. */
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

/* One record. False: there is none, or it is damaged. */
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

bool columns_split(struct columns *columns, const uint8_t *payload, size_t size)
{
	// The payload is only read in this direction.
	struct walk walk = {*columns, (uint8_t *)payload, (uint8_t *)payload + size};

	while (walk.at < walk.end) {
		if (!move_record(&walk, true))
			return false;
	}
	*columns = walk.columns;
	return walk.at == walk.end;
}

/* None was read beyond its end. */
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
