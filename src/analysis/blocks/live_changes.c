#include "analysis/blocks/live_changes.h"

#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/vec.h"

/* Allocations of a window: a table of 2 MB, which fits into a processor's own cache. */
#define WINDOW ((uint64_t)1 << 18)

/* A block whose bytes go before the allocation `turn`. */
struct ending {
	uint64_t bytes;
	uint32_t turn;
};

struct live_change_list {
	VEC(struct ending) endings;
};

static uint64_t windows_of(const struct live_changes *changes)
{
	return (changes->end - changes->first + WINDOW - 1) / WINDOW;
}

void live_changes_deinit(struct live_changes *changes)
{
	for (uint64_t i = 0; changes->waiting && i < windows_of(changes); i++)
		vec_deinit(&changes->waiting[i].endings);
	free(changes->waiting);
	free(changes->memory);
}

static inline uint64_t bytes_of(const struct live_changes *changes, uint64_t i)
{
	uint64_t size = changes->blocks->size[i];

	return changes->sample_mean ? size * sample_weight(changes->sample_mean, size, i + 1)
				    : size;
}

static bool wait(struct live_changes *changes, uint64_t turn, uint64_t bytes)
{
	struct live_change_list *list = &changes->waiting[(turn - changes->first) / WINDOW];

	return vec_push(&list->endings, (struct ending){bytes, (uint32_t)turn});
}

struct err *live_changes_begin(struct live_changes *changes)
{
	const uint32_t *free_turn = changes->blocks->free_turn;
	uint64_t first = changes->first;

	changes->begin = changes->stop = first;
	changes->memory = malloc(WINDOW * sizeof(*changes->memory));
	changes->waiting = calloc(windows_of(changes) + 1, sizeof(*changes->waiting));
	if (!changes->memory || !changes->waiting)
		return err_no_memory();
	changes->changes = changes->memory;
	for (uint64_t i = block_bits_next(changes->bits, first, 0); i < first;
	     i = block_bits_next(changes->bits, first, i + 1)) {
		uint64_t turn = free_turn[i], bytes;

		if (turn < first)
			continue;
		bytes = bytes_of(changes, i);
		changes->live += bytes;
		if (turn < changes->end && !wait(changes, turn, bytes))
			return err_no_memory();
	}
	return NULL;
}

/* Takes the frees of blocks from before the window. */
static void take_waiting(struct live_changes *changes)
{
	__auto_type list = &changes->waiting[(changes->begin - changes->first) / WINDOW].endings;

	for (size_t i = 0; i < list->count; i++)
		changes->memory[list->items[i].turn - changes->begin] -= list->items[i].bytes;
	vec_deinit(list);
}

/* Takes the allocations of the window, and their frees. */
static bool take_window(struct live_changes *changes)
{
	const uint32_t *free_turn = changes->blocks->free_turn;
	uint64_t begin = changes->begin, stop = changes->stop, end = changes->end;

	for (uint64_t i = block_bits_next(changes->bits, stop, begin); i < stop;
	     i = block_bits_next(changes->bits, stop, i + 1)) {
		uint64_t turn = free_turn[i], bytes = bytes_of(changes, i);

		changes->memory[i - begin] += bytes;
		if (turn < stop)
			changes->memory[turn - begin] -= bytes;
		else if (turn < end && !wait(changes, turn, bytes))
			return false;
	}
	return true;
}

struct err *live_changes_next(struct live_changes *changes, bool *ret)
{
	*ret = changes->stop < changes->end;
	if (!*ret)
		return NULL;
	changes->begin = changes->stop;
	changes->stop =
		changes->end - changes->begin < WINDOW ? changes->end : changes->begin + WINDOW;
	memset(changes->memory, 0, (changes->stop - changes->begin) * sizeof(*changes->memory));
	take_waiting(changes);
	return take_window(changes) ? NULL : err_no_memory();
}
