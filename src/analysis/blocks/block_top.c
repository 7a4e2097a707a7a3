#include "analysis/blocks/block_top.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_nth.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

/*
 * Each piece of the rows fills a list of its own, with room for twice the wanted entries. When the
 * list is full, the wanted ones among them are selected, and the others dropped.
 */
struct choosing {
	const struct block_sort_keys *all;
	struct block_sort_key from;     /* entries before it are not wanted */
	uint64_t piece, wanted;         /* piece: rows of a piece */
	struct block_sort_key *entries; /* the pieces' lists, one after the other */
	size_t *counts;
};

static int compare(const void *a, const void *b)
{
	return block_sort_key_is_before(a, b) ? -1 : block_sort_key_is_before(b, a);
}

static void swap(struct block_sort_key *a, struct block_sort_key *b)
{
	struct block_sort_key entry = *a;

	*a = *b;
	*b = entry;
}

/*
 * Quickselect: moves the first `wanted` entries to the front, with the last of these at its place.
 * The pivot is taken at random, so that no usual order of entries is a bad case.
 */
static void select_first(struct block_sort_key *entries, size_t count, size_t wanted)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, nth = (ptrdiff_t)wanted - 1;
	uint64_t random = 1;

	while (low < high) {
		ptrdiff_t i = low, j = high;
		struct block_sort_key pivot;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		pivot = entries[low + (ptrdiff_t)((random >> 33) % (uint64_t)(high - low + 1))];
		while (i <= j) {
			while (block_sort_key_is_before(&entries[i], &pivot))
				i++;
			while (block_sort_key_is_before(&pivot, &entries[j]))
				j--;
			if (i <= j)
				swap(&entries[i++], &entries[j--]);
		}
		if (nth <= j)
			high = j;
		else if (nth >= i)
			low = i;
		else
			return;
	}
}

static void choose_piece(void *argument, size_t number)
{
	const struct choosing *choosing = argument;
	const struct block_sort_keys *all = choosing->all;
	size_t wanted = choosing->wanted, count = 0;
	struct block_sort_key *entries = choosing->entries + number * 2 * wanted;
	struct block_sort_key bound = {UINT64_MAX, UINT32_MAX}; // entries after it are not wanted
	uint64_t begin = number * choosing->piece, end = begin + choosing->piece;

	if (end > all->blocks)
		end = all->blocks;
	for (uint64_t i = block_bits_next(all->bits, end, begin); i < end;
	     i = block_bits_next(all->bits, end, i + 1)) {
		struct block_sort_key entry = block_sort_key_at(all, i);

		if (block_sort_key_is_before(&bound, &entry) ||
		    block_sort_key_is_before(&entry, &choosing->from))
			continue;
		entries[count++] = entry;
		if (count == 2 * wanted) {
			select_first(entries, count, wanted);
			count = wanted;
			bound = entries[wanted - 1];
		}
	}
	choosing->counts[number] = count;
}

/* Sorts what the pieces found, and takes the first ones. */
static struct err *join(const struct choosing *choosing, size_t pieces, struct block_top *ret)
{
	struct block_sort_key *entries = choosing->entries;
	size_t count = 0;

	for (size_t i = 0; i < pieces; i++) {
		memmove(entries + count, entries + i * 2 * choosing->wanted,
			choosing->counts[i] * sizeof(*entries));
		count += choosing->counts[i];
	}
	if (count > choosing->wanted) {
		select_first(entries, count, choosing->wanted);
		count = choosing->wanted;
	}
	qsort(entries, count, sizeof(*entries), compare);
	ret->rows = malloc((count + 1) * sizeof(*ret->rows));
	if (!ret->rows)
		return err_no_memory();
	ret->count = count;
	for (size_t i = 0; i < count; i++)
		ret->rows[i] = choosing->all->descending ? ~entries[i].row : entries[i].row;
	return NULL;
}

struct err *block_top_create(const struct block_sort_keys *entries, uint64_t first, uint64_t wanted,
			     struct block_top *ret)
{
	size_t pieces = parallel_pieces(entries->blocks, PIECE_MIN);
	auto_free struct block_sort_key *chosen = malloc(pieces * 2 * wanted * sizeof(*chosen));
	auto_free size_t *counts = calloc(pieces, sizeof(*counts));
	struct choosing choosing = {
		.all = entries,
		.piece = entries->blocks / pieces + 1,
		.wanted = wanted,
		.entries = chosen,
		.counts = counts,
	};
	struct err *err = NULL;

	*ret = (struct block_top){.first = first};
	if (!chosen || !counts)
		return err_no_memory();
	if (first)
		err = block_nth_find(entries, first, &choosing.from);
	if (err)
		return err;
	parallel_run(choose_piece, &choosing, pieces);
	return join(&choosing, pieces, ret);
}

void block_top_deinit(struct block_top *top)
{
	free(top->rows);
	*top = (struct block_top){0};
}
