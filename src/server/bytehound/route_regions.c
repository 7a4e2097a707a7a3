/*
 * /regions: which parts of the main arena of glibc's malloc matching blocks take, by address. With
 * other allocators there are none.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/views/heap_chunk.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "server/data/selection.h"
#include "server/routes/route.h"

struct region {
	uint64_t start, end; /* end: behind the last byte */
};

/* By address; chunks that touch or overlap are joined. */
struct regions {
	VEC(struct region) items;
	struct region whole; /* from the first to the last chunk of all; zeros: there is none */
};

static void regions_deinit(struct regions *regions)
{
	vec_deinit(&regions->items);
}

static bool add_chunk(struct regions *regions, struct region chunk)
{
	size_t count = regions->items.count;
	struct region *last = count ? &regions->items.items[count - 1] : NULL;

	if (!last || chunk.start > last->end)
		return vec_push(&regions->items, chunk);
	if (chunk.end > last->end)
		last->end = chunk.end;
	return true;
}

/* Finds the regions of the matching blocks. Call it under the lock. */
static struct err *find_regions(struct request *request, struct reply *reply,
				struct regions *regions)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	const struct recording *recording = request->dataset->recording;
	const struct block_columns *blocks = request->dataset->blocks;
	struct region *whole = &regions->whole;
	const uint32_t *order;
	struct err *err = request_select(request, reply, &selection);

	if (err || !selection)
		return err;
	err = recording_block_order(recording, BLOCK_ORDER_ADDRESS, &order);
	if (err || request->dataset->facts->allocator != TRACE_ALLOCATOR_GLIBC)
		return err;
	for (uint64_t i = 0; i < blocks->count; i++) {
		struct region chunk;

		if (!heap_chunk_in_main_arena(blocks, order[i]))
			continue;
		chunk = (struct region){heap_chunk_start(blocks, order[i]),
					heap_chunk_end(blocks, order[i])};
		if (!whole->end)
			whole->start = chunk.start;
		if (chunk.end > whole->end)
			whole->end = chunk.end;
		if (block_bits_has(selection->bits, order[i]) && !add_chunk(regions, chunk))
			return err_no_memory();
	}
	return NULL;
}

static void put_end(struct json_writer *json, const char *key, const char *text_key,
		    uint64_t address)
{
	char text[24];

	json_field_u64(json, key, address);
	snprintf(text, sizeof(text), "%" PRIu64, address);
	json_field_text(json, text_key, text);
}

struct err *route_regions(struct request *request, struct reply *reply)
{
	cleanup(regions_deinit) struct regions regions = {0};
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	struct err *err;

	dataset_lock(request->dataset);
	err = find_regions(request, reply, &regions);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	put_end(&json, "main_heap_start", "main_heap_start_s", regions.whole.start);
	put_end(&json, "main_heap_end", "main_heap_end_s", regions.whole.end);
	json_key(&json, "regions");
	json_array(&json);
	for (size_t i = 0; i < regions.items.count; i++) {
		json_array(&json);
		json_u64(&json, regions.items.items[i].start);
		json_u64(&json, regions.items.items[i].end);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}
