#include "coredump/core_image.h"

#include <stdbool.h>

void core_image_deinit(struct core_image *image)
{
	vec_deinit(&image->segments);
	vec_deinit(&image->mappings);
	arena_deinit(&image->arena);
}

static int compare(const void *left, const void *right)
{
	const struct core_segment *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Whether b goes on where a ends. All of a must be in the file. */
static bool go_on(const struct core_segment *a, const struct core_segment *b)
{
	return a->fd == b->fd && a->held == a->size && a->address + a->size == b->address &&
	       a->offset + a->held == b->offset;
}

void core_image_sort(struct core_image *image)
{
	struct core_segment *segments = image->segments.items;
	size_t kept = 0;

	if (!image->segments.count)
		return;
	qsort(segments, image->segments.count, sizeof(*segments), compare);
	for (size_t i = 1; i < image->segments.count; i++) {
		if (go_on(&segments[kept], &segments[i])) {
			segments[kept].size += segments[i].size;
			segments[kept].held += segments[i].held;
		} else {
			segments[++kept] = segments[i];
		}
	}
	image->segments.count = kept + 1;
}

size_t core_image_find(const struct core_image *image, uint64_t address)
{
	size_t low = 0, high = image->segments.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct core_segment *segment = &image->segments.items[middle];

		if (segment->address + (segment->size - 1) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
