#include "analysis/groups/block_group_key.h"

#include <string.h>

static void put_thread(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(groups->recording, &count);

	if (group < count)
		buf_text(buf, threads[group].name);
	else
		buf_char(buf, 0); // freed by no thread
}

/* A pool without a name is the one at its address. */
static void put_pool(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(groups->recording, &count);

	if (group >= count)
		buf_char(buf, 0);
	else if (*pools[group].name)
		buf_text(buf, pools[group].name);
	else
		buf_put(buf, &pools[group].address, sizeof(pools[group].address));
}

static void put_range(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint64_t range[2] = {0};

	if (block_groups_range(groups, group, &range[0], &range[1]))
		buf_put(buf, range, sizeof(range));
}

void block_group_key_put(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	switch (groups->by) {
	case BLOCK_GROUPS_THREAD:
	case BLOCK_GROUPS_FREE_THREAD:
		put_thread(buf, groups, group);
		return;
	case BLOCK_GROUPS_MARK:
		buf_text(buf, group ? groups->marks[group - 1] : "");
		return;
	case BLOCK_GROUPS_POOL:
		put_pool(buf, groups, group);
		return;
	case BLOCK_GROUPS_SIZE:
	case BLOCK_GROUPS_LIFETIME:
	case BLOCK_GROUPS_TAG:
		put_range(buf, groups, group);
		return;
	default:
		buf_put(buf, &group, sizeof(group));
	}
}
