#include "ebpf/hooks/fde_ranges.h"

#include <stdlib.h>

#include "base/first_where.h"
#include "cfi/eh_walk.h"

static int compare(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

struct err *fde_ranges_read(const struct elf_image *image, struct fde_ranges *ret)
{
	Elf_Scn *scn = elf_image_section(image, ".eh_frame");
	Elf_Data *data = elf_image_section_data(image, ".eh_frame");
	struct eh_place place;
	struct eh_walk walk;
	GElf_Shdr header;

	if (!data || !gelf_getshdr(scn, &header))
		return NULL;

	const struct eh_image section = {data->d_buf, data->d_size, header.sh_addr};
	struct eh_cursor cursor = eh_entry_at(&section, section.address);

	eh_walk_begin(&walk, &section, EH_FORMAT_EH_FRAME, 0);
	while (eh_walk_next(&walk, &cursor, &place))
		if (place.size <= UINT64_MAX - place.start &&
		    !vec_push(&ret->list,
			      (struct fde_range){place.start, place.start + place.size}))
			return err_no_memory();
	if (ret->list.count)
		qsort(ret->list.items, ret->list.count, sizeof(*ret->list.items), compare);
	return NULL;
}

void fde_ranges_deinit(struct fde_ranges *ranges)
{
	vec_deinit(&ranges->list);
}

const struct fde_range *fde_ranges_find(const struct fde_ranges *ranges, uint64_t address)
{
	const struct fde_range *items = ranges->list.items;
	size_t behind = first_where(i, 0, ranges->list.count, items[i].start > address);

	return behind && address < items[behind - 1].end ? &items[behind - 1] : NULL;
}
