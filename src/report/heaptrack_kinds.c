#include "report/heaptrack_kinds.h"

void heaptrack_kinds_deinit(struct heaptrack_kinds *kinds)
{
	heaptrack_names_destroy(kinds->names);
	map_deinit(&kinds->sizes);
	map_deinit(&kinds->by_key);
	spill_deinit(&kinds->memory);
}

struct err *heaptrack_kinds_init(struct heaptrack_kinds *kinds, struct symbolized *symbolized)
{
	kinds->recording = symbolized_recording(symbolized);
	if (!spill_grow(&kinds->memory,
			(recording_blocks(kinds->recording)->count + 1) * sizeof(*kinds->of)))
		return err_no_memory();
	kinds->of = kinds->memory.data;
	return heaptrack_names_create(symbolized, &kinds->names);
}

static void put_kind(struct buf *buf, uint64_t size, uint32_t stack)
{
	buf_text(buf, "a ");
	buf_hex(buf, size);
	buf_char(buf, ' ');
	buf_hex(buf, stack);
	buf_char(buf, '\n');
}

static struct err *define(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t size,
			  uint32_t site)
{
	uint32_t unused, stack;
	const struct site *sites = recording_sites(kinds->recording, &unused);
	struct err *err = heaptrack_names_stack(kinds->names, buf, sites[site].stack, &stack);

	if (err)
		return err;
	put_kind(buf, size, stack);
	if (!kinds->count++) {
		kinds->first_size = size;
		kinds->first_stack = stack;
	}
	return NULL;
}

struct err *heaptrack_kinds_take(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t block,
				 uint64_t size)
{
	uint32_t site = recording_blocks(kinds->recording)->site[block];
	uint64_t *number = map_put(&kinds->sizes, size), *kind;
	struct err *err = NULL;

	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE)
		*number = kinds->sizes.count;
	kind = map_put(&kinds->by_key, *number << 32 | site);
	if (!kind)
		return err_no_memory();
	if (*kind == MAP_NONE) {
		*kind = kinds->count;
		err = define(kinds, buf, size, site);
	}
	kinds->of[block] = (uint32_t)*kind;
	return err;
}

void heaptrack_kinds_finish(struct heaptrack_kinds *kinds, struct buf *buf)
{
	if (!kinds->count)
		return;
	put_kind(buf, 0, kinds->first_stack);
	put_kind(buf, kinds->first_size, kinds->first_stack);
}
