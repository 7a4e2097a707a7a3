#include "analysis/filter/filter_maps.h"

#include "analysis/filter/filter_keep.h"
#include "analysis/filter/filter_stacks.h"
#include "analysis/filter/filter_times.h"
#include "hosted/cleanup.h"

bool filter_maps_have(size_t parameter)
{
	switch ((enum filter_id)parameter) {
	case FILTER_FROM:
	case FILTER_TO:
	case FILTER_UNTIL:
	case FILTER_FREED_FROM:
	case FILTER_FREED_TO:
	case FILTER_ALIVE_AT:
	case FILTER_ALIVE_AT_2:
	case FILTER_LIFETIME:
	case FILTER_LIFETIME_MIN:
	case FILTER_LIFETIME_MAX:
	case FILTER_SIZE_MIN:
	case FILTER_SIZE_MAX:
	case FILTER_ADDRESS_MIN:
	case FILTER_ADDRESS_MAX:
	case FILTER_FUNCTION_REGEX:
	case FILTER_SOURCE_REGEX:
	case FILTER_MODULE_REGEX:
	case FILTER_NEGATIVE_FUNCTION_REGEX:
	case FILTER_NEGATIVE_SOURCE_REGEX:
	case FILTER_NEGATIVE_MODULE_REGEX:
	case FILTER_ALLOCATED_BY:
	case FILTER_BACKTRACE_DEPTH_MIN:
	case FILTER_BACKTRACE_DEPTH_MAX:
	case FILTER_BACKTRACES:
	case FILTER_DEALLOCATION_BACKTRACES:
		return true;
	default:
		return false;
	}
}

/* Mappings as columns. */
struct columns {
	uint64_t *numbers; /* four columns, one behind the other */
	uint32_t *stacks;
	uint32_t *free_stacks; /* RECORDING_NONE: not gone */
	uint8_t *kept;         /* by its stack */
	struct block_columns blocks;
};

static void columns_deinit(struct columns *columns)
{
	free(columns->numbers);
	free(columns->stacks);
	free(columns->free_stacks);
	free(columns->kept);
}

static struct err *columns_init(const struct recording *recording, const struct map_lives *lives,
				struct columns *columns)
{
	uint32_t operations;
	const struct mapping_operation *calls = recording_mappings(recording, &operations);
	size_t count = lives->count;
	uint64_t *numbers = columns->numbers = malloc((4 * count + 1) * sizeof(*numbers));

	columns->stacks = malloc((count + 1) * sizeof(*columns->stacks));
	columns->free_stacks = malloc((count + 1) * sizeof(*columns->free_stacks));
	columns->kept = malloc(count + 1);
	if (!numbers || !columns->stacks || !columns->free_stacks || !columns->kept)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct map_life *life = &lives->items[i];
		bool gone = life->gone != RECORDING_NONE;

		numbers[i] = calls[life->made].time_ns;
		numbers[count + i] = gone ? calls[life->gone].time_ns : TIME_NEVER;
		numbers[2 * count + i] = life->address;
		numbers[3 * count + i] = life->length;
		columns->stacks[i] = calls[life->made].stack;
		columns->free_stacks[i] = gone ? calls[life->gone].stack : RECORDING_NONE;
		columns->kept[i] = true;
	}
	columns->blocks = (struct block_columns){
		.count = count,
		.allocated_ns = numbers,
		.freed_ns = numbers + count,
		.address = numbers + 2 * count,
		.size = numbers + 3 * count,
	};
	return NULL;
}

static bool wants(const struct filter *filter, enum filter_lifetime lifetime)
{
	return filter_has(filter, FILTER_LIFETIME) &&
	       filter->conditions[FILTER_LIFETIME].number == lifetime;
}

/* Keeps mappings of stacks of which none has gone. */
static struct err *keep_groups(const struct recording *recording, struct columns *columns)
{
	auto_free uint8_t *gone = NULL;
	uint32_t count;

	recording_stacks(recording, &count);
	gone = calloc((size_t)count + 1, 1); // the last one: the empty stack
	if (!gone)
		return err_no_memory();
	for (size_t i = 0; i < columns->blocks.count; i++)
		if (columns->blocks.freed_ns[i] != TIME_NEVER)
			gone[columns->stacks[i] < count ? columns->stacks[i] : count] = true;
	for (size_t i = 0; i < columns->blocks.count; i++)
		columns->kept[i] &= !gone[columns->stacks[i] < count ? columns->stacks[i] : count];
	return NULL;
}

/* Keeps by stacks, and by groups and chains: a mapping is a chain by itself. */
static struct err *keep_by_stack(const struct filter *filter, const struct recording *recording,
				 struct symbolized *symbolized, struct columns *columns)
{
	struct err *err = NULL;

	if (wants(filter, FILTER_LIFETIME_GROUP_LEAKED))
		err = keep_groups(recording, columns);
	for (size_t i = 0; wants(filter, FILTER_LIFETIME_CHAIN_LEAKED) && i < columns->blocks.count;
	     i++)
		columns->kept[i] &= columns->blocks.freed_ns[i] == TIME_NEVER;
	if (err || !filter_has_stacks(filter))
		return err;
	return filter_stacks(filter, recording, symbolized, columns->stacks,
			     (uint32_t)columns->blocks.count, columns->kept);
}

struct err *filter_maps(const struct filter *filter, const struct recording *recording,
			struct symbolized *symbolized, const struct map_lives *lives,
			struct filter_match *ret)
{
	cleanup(filter_match_deinit) struct filter_match match = {0};
	cleanup(columns_deinit) struct columns columns = {0};
	struct err *err = columns_init(recording, lives, &columns);

	if (!err)
		err = filter_match_create(lives->count, &match);
	if (!err)
		err = filter_times(filter, recording, &columns.blocks, &match);
	if (!err)
		err = keep_by_stack(filter, recording, symbolized, &columns);
	if (err)
		return err;
	KEEP(&match, columns.kept[i]);
	keep_range(&match, columns.blocks.size, filter_range(filter, FILTER_SIZE_MIN));
	keep_range(&match, columns.blocks.address, filter_range(filter, FILTER_ADDRESS_MIN));
	keep_stack(&match, filter, FILTER_BACKTRACES, columns.stacks);
	keep_stack(&match, filter, FILTER_DEALLOCATION_BACKTRACES, columns.free_stacks);
	*ret = match;
	match = (struct filter_match){0};
	return NULL;
}

/* Where a mapping is, and until when. */
struct place {
	const struct map_life *life;
	const struct map_cut *cuts; /* its own */
	const struct mapping_operation *calls;
	uint64_t made_ns, gone_ns;
};

/* Whether the block was allocated there, and not where a call had taken the place away before. */
static bool is_in(const struct place *place, uint64_t address, uint64_t size, uint64_t at_ns)
{
	const struct map_life *life = place->life;
	uint64_t end = address + (size ? size : 1);

	if (address >= life->address + life->length || end <= life->address ||
	    at_ns < place->made_ns || at_ns >= place->gone_ns)
		return false;
	for (uint32_t i = 0; i < life->cuts; i++) {
		const struct map_cut *cut = &place->cuts[i];

		if (cut->address <= address && end <= cut->address + cut->length &&
		    at_ns >= place->calls[cut->operation].time_ns)
			return false;
	}
	return true;
}

struct err *filter_from_map(const struct filter *filter, const struct recording *recording,
			    struct filter_match *match)
{
	cleanup(map_lives_deinit) struct map_lives lives = {0};
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t id = filter->conditions[FILTER_FROM_MAP].number;
	struct place place = {0};
	uint32_t operations;
	struct err *err;

	if (!filter_has(filter, FILTER_FROM_MAP))
		return NULL;
	err = map_lives_create(recording, &lives);
	if (err)
		return err;
	if (id >= lives.count) {
		keep_none(match);
		return NULL;
	}
	place.life = &lives.items[id];
	place.cuts = &lives.cuts[place.life->first_cut];
	place.calls = recording_mappings(recording, &operations);
	place.made_ns = place.calls[place.life->made].time_ns;
	place.gone_ns = place.life->gone == RECORDING_NONE ? TIME_NEVER
							   : place.calls[place.life->gone].time_ns;
	KEEP(match, is_in(&place, blocks->address[i], blocks->size[i], blocks->allocated_ns[i]));
	return NULL;
}
