#include "coredump/core_image.h"

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

void core_image_sort(struct core_image *image)
{
	if (image->segments.count)
		qsort(image->segments.items, image->segments.count, sizeof(*image->segments.items),
		      compare);
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
