/* See mapped_ranges.h. */
#include "ebpf/mapped_ranges.h"

#include "base/first_where.h"
#include "hosted/page_size.h"

#include <string.h>

/* The first range that ends behind address. */
static size_t first_behind(const struct mapped_ranges *ranges, uint64_t address)
{
	return first_where(i, 0, ranges->list.count, ranges->list.items[i].end > address);
}

static struct err *insert_range(struct mapped_ranges *ranges, const struct mapped_range *range)
{
	size_t at = first_behind(ranges, range->start);

	if (!vec_reserve(&ranges->list, 1))
		return err_no_memory();

	struct mapped_range *to = &ranges->list.items[at];

	memmove(to + 1, to, (ranges->list.count - at) * sizeof(*to));
	*to = *range;
	ranges->list.count++;
	return NULL;
}

/* The part of a range within [start, end), which lies in it. */
static struct mapped_range part_of(const struct mapped_range *range, uint64_t start, uint64_t end)
{
	struct mapped_range part = *range;
	uint64_t asked_end = range->start + range->size;

	part.start = start;
	part.end = end;
	part.size = asked_end <= start ? 0 : (asked_end < end ? asked_end : end) - start;
	return part;
}

/* Takes [start, end) out of all ranges. by: the thread that unmapped it, which keeps the parts; 0:
 * drop the parts.
 */
static struct err *cut_ranges(struct mapped_ranges *ranges, uint64_t start, uint64_t end,
			      uint32_t by)
{
	size_t at = first_behind(ranges, start);

	while (at < ranges->list.count && ranges->list.items[at].start < end) {
		struct mapped_range range = ranges->list.items[at];
		uint64_t from = range.start > start ? range.start : start;
		uint64_t to = range.end < end ? range.end : end;
		struct mapped_range before = part_of(&range, range.start, from);
		struct mapped_range behind = part_of(&range, to, range.end);
		struct err *err = NULL;

		if (by && !vec_push(&ranges->unmapped,
				    (struct unmapped_part){part_of(&range, from, to), by}))
			return err_no_memory();
		memmove(&ranges->list.items[at], &ranges->list.items[at + 1],
			(ranges->list.count - at - 1) * sizeof(range));
		ranges->list.count--;
		if (before.start < before.end) {
			err = insert_range(ranges, &before);
			at++;
		}
		if (!err && behind.start < behind.end) {
			err = insert_range(ranges, &behind);
			at++;
		}
		if (err)
			return err;
	}
	return NULL;
}

/* Forgets what a thread unmapped before, or gives it back. */
static struct err *settle_unmapped(struct mapped_ranges *ranges, uint32_t tid, bool back)
{
	struct err *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < ranges->unmapped.count; i++) {
		const struct unmapped_part *part = &ranges->unmapped.items[i];

		if (part->by != tid)
			ranges->unmapped.items[kept++] = *part;
		else if (back && !err)
			err = insert_range(ranges, &part->range);
	}
	ranges->unmapped.count = kept;
	return err;
}

struct err *mapped_ranges_add(struct mapped_ranges *ranges, uint64_t address, uint64_t size,
			      uint64_t time_ns, uint32_t stack, uint32_t tid)
{
	struct mapped_range range = {.start = address,
				     .end = page_up(address + size),
				     .size = size,
				     .time_ns = time_ns,
				     .stack = stack,
				     .tid = tid};
	struct err *err = cut_ranges(ranges, range.start, range.end, 0);

	return err ? err : insert_range(ranges, &range);
}

struct err *mapped_ranges_remove(struct mapped_ranges *ranges, uint64_t address, uint64_t size,
				 uint32_t tid)
{
	struct err *err = settle_unmapped(ranges, tid, false);
	uint64_t end = page_up(address + size);

	// A size beyond all memory: the call fails.
	return err || end <= address ? err : cut_ranges(ranges, address, end, tid);
}

struct err *mapped_ranges_restore(struct mapped_ranges *ranges, uint32_t tid)
{
	return settle_unmapped(ranges, tid, true);
}

void mapped_ranges_deinit(struct mapped_ranges *ranges)
{
	vec_deinit(&ranges->list);
	vec_deinit(&ranges->unmapped);
}
