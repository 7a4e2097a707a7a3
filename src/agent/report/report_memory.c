#include "agent/report/report_memory.h"

#include "agent/ground/own_pages.h"
#include "agent/ground/state.h"
#include "base/bytes.h"

#define REGION_SIZE (256u << 10)
#define ALIGNMENT   16

struct report_region {
	struct report_region *next;
	size_t size, used;
};

static struct report_region *add_region(struct report_memory *memory, size_t size)
{
	size_t whole = size + sizeof(struct report_region) + ALIGNMENT;
	struct report_region *region;

	if (whole < REGION_SIZE)
		whole = REGION_SIZE;
	region = own_pages_allocate(whole);
	if (!region)
		return NULL;
	region->size = whole;
	region->used = bytes_round_up(sizeof(*region), ALIGNMENT);
	region->next = memory->regions;
	memory->regions = region;
	return region;
}

void *report_memory_take(struct report_memory *memory, size_t size)
{
	struct report_region *region = memory->regions;
	void *taken;

	size = bytes_round_up(size, ALIGNMENT);
	if (!region || region->size - region->used < size)
		region = add_region(memory, size);
	if (!region)
		return NULL;
	taken = (char *)region + region->used;
	region->used += size;
	return taken;
}

void report_memory_release(struct report_memory *memory)
{
	struct report_region *region = memory->regions;

	memory->regions = NULL;
	if (process_system_calls_forbidden())
		return;
	while (region) {
		struct report_region *next = region->next;

		own_pages_release(region, region->size);
		region = next;
	}
}
