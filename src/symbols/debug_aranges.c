#include "symbols/debug_aranges.h"

#include <stdbool.h>

#include "base/bytes.h"

#define VERSION      2
#define ADDRESS_SIZE 8
#define LONG_FORMAT  UINT32_MAX /* a size of 8 bytes follows, and offsets have 8 bytes */

/* The part of the section that is not read yet. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

/* Steps over size bytes. false: fewer are left. */
static bool skip(struct cursor *cursor, size_t size)
{
	if (cursor->left < size)
		return false;
	cursor->at += size;
	cursor->left -= size;
	return true;
}

/* Reads a number of size bytes, 8 at most. false: fewer are left. */
static bool take_number(struct cursor *cursor, size_t size, uint64_t *ret)
{
	const uint8_t *from = cursor->at;

	*ret = 0;
	if (!skip(cursor, size))
		return false;
	memcpy(ret, from, size);
	return true;
}

/* Adds the ranges of one unit. Its list ends with a range of zeros. */
static struct err *read_ranges(struct cursor *set, uint32_t unit, struct span_ranges *ranges)
{
	uint64_t low, size;

	while (take_number(set, ADDRESS_SIZE, &low) && take_number(set, ADDRESS_SIZE, &size) &&
	       (low || size)) {
		struct err *err =
			low + size < low ? NULL : span_ranges_add(ranges, low, low + size, unit);

		if (err)
			return err;
	}
	return NULL;
}

/*
 * Steps over the next set of ranges, and returns its content in *ret: what follows the header,
 * aligned as ranges are. false: there is none.
 */
static bool take_set(struct cursor *cursor, struct cursor *ret, uint64_t *unit)
{
	const uint8_t *begin = cursor->at;
	uint64_t size, version, address_size, segment_size;
	size_t offset_size = 4, header;

	if (!take_number(cursor, 4, &size))
		return false;
	if (size == LONG_FORMAT) {
		offset_size = 8;
		if (!take_number(cursor, 8, &size))
			return false;
	}
	if (size > cursor->left)
		return false;
	*ret = (struct cursor){cursor->at, size};
	skip(cursor, size);
	if (!take_number(ret, 2, &version) || !take_number(ret, offset_size, unit) ||
	    !take_number(ret, 1, &address_size) || !take_number(ret, 1, &segment_size) ||
	    version != VERSION || address_size != ADDRESS_SIZE || segment_size)
		return false;
	header = (size_t)(ret->at - begin);
	return skip(ret, bytes_round_up(header, 2 * ADDRESS_SIZE) - header);
}

struct err *debug_aranges_read(const uint8_t *bytes, size_t size, struct debug_aranges *ret)
{
	struct cursor cursor = {bytes, size}, set;
	uint64_t unit;

	while (ret->units.count < SPAN_NONE && take_set(&cursor, &set, &unit)) {
		uint32_t index = (uint32_t)ret->units.count;

		if (!vec_push(&ret->units, unit))
			return err_no_memory();

		struct err *err = read_ranges(&set, index, &ret->ranges);

		if (err)
			return err;
	}
	return NULL;
}

void debug_aranges_deinit(struct debug_aranges *aranges)
{
	vec_deinit(&aranges->units);
	span_ranges_deinit(&aranges->ranges);
}
