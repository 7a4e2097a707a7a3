#include "analysis/blocks/site_usage.h"

#include <stdlib.h>

#include "analysis/blocks/block_events.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct block_events *, block_events_destroy);

/* Usable bytes of a site's live blocks, now and at most. */
struct usage {
	uint64_t now, most;
};

static void take(const struct block_columns *blocks, const struct block_event *event,
		 struct usage *usages, uint64_t *most_ns)
{
	uint32_t site = blocks->site[event->block];
	uint64_t usable = blocks->size[event->block] + blocks->slack[event->block];
	struct usage *usage = &usages[site];

	if (event->kind == BLOCK_FREED) {
		usage->now -= usable;
		return;
	}
	usage->now += usable;
	if (most_ns[site] == SITE_USAGE_NEVER || usage->now > usage->most) {
		usage->most = usage->now;
		most_ns[site] = event->time_ns;
	}
}

struct err *site_usage_most(const struct recording *recording, uint64_t **ret)
{
	cleanup(block_events_destroy_at) struct block_events *events = NULL;
	auto_free struct usage *usages = NULL;
	auto_free uint64_t *most_ns = NULL;
	struct block_event event = {0};
	uint32_t count;
	struct err *err;

	recording_sites(recording, &count);
	usages = calloc((size_t)count + 1, sizeof(*usages));
	most_ns = malloc(((size_t)count + 1) * sizeof(*most_ns));
	if (!usages || !most_ns)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		most_ns[i] = SITE_USAGE_NEVER;
	err = block_events_create(recording, NULL, &events);
	while (!err && event.kind != BLOCK_EVENTS_END) {
		err = block_events_next(events, &event);
		if (!err && event.kind != BLOCK_EVENTS_END)
			take(recording_blocks(recording), &event, usages, most_ns);
	}
	if (!err)
		*ret = steal(&most_ns);
	return err;
}
