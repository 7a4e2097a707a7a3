#include "analysis/blocks/block_top.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* What is sorted: descending, both are the complement, so that the least always comes first. */
struct entry {
	uint64_t key;
	uint32_t row;
};

/*
 * Each piece of the rows fills a list of its own, of twice as many entries as are wanted; when that
 * is full the wanted ones of them are found, and the others dropped.
 */
struct choosing {
	const uint64_t *bits, *keys;
	uint64_t blocks, piece, wanted; /* piece: rows of one */
	bool descending;
	struct entry *entries; /* of one piece after the other */
	size_t *counts;
};

static bool is_before(const struct entry *a, const struct entry *b)
{
	return a->key != b->key ? a->key < b->key : a->row < b->row;
}

static int compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

static void swap(struct entry *a, struct entry *b)
{
	struct entry entry = *a;

	*a = *b;
	*b = entry;
}

/*
 * The first `wanted` of them to the front, the last one of these at its place ("quickselect"). The
 * pivot is taken from anywhere, so that no usual order of the entries is a bad one.
 */
static void select_first(struct entry *entries, size_t count, size_t wanted)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, nth = (ptrdiff_t)wanted - 1;
	uint64_t random = 1;

	while (low < high) {
		ptrdiff_t i = low, j = high;
		struct entry pivot;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		pivot = entries[low + (ptrdiff_t)((random >> 33) % (uint64_t)(high - low + 1))];
		while (i <= j) {
			while (is_before(&entries[i], &pivot))
				i++;
			while (is_before(&pivot, &entries[j]))
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
	size_t wanted = choosing->wanted, count = 0;
	struct entry *entries = choosing->entries + number * 2 * wanted;
	struct entry bound = {UINT64_MAX, UINT32_MAX}; // what is after it is not wanted
	uint64_t flip = choosing->descending ? UINT64_MAX : 0;
	uint64_t begin = number * choosing->piece, end = begin + choosing->piece;

	if (end > choosing->blocks)
		end = choosing->blocks;
	for (uint64_t i = block_bits_next(choosing->bits, end, begin); i < end;
	     i = block_bits_next(choosing->bits, end, i + 1)) {
		struct entry entry = {choosing->keys[i] ^ flip, (uint32_t)(i ^ flip)};

		if (is_before(&bound, &entry))
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

/* The first ones of those that the pieces found, in order. */
static struct err *join(const struct choosing *choosing, size_t pieces, struct block_top *ret)
{
	struct entry *entries = choosing->entries;
	struct block_top top = {.count = choosing->wanted};
	size_t count = 0;

	for (size_t i = 0; i < pieces; i++) {
		memmove(entries + count, entries + i * 2 * choosing->wanted,
			choosing->counts[i] * sizeof(*entries));
		count += choosing->counts[i];
	}
	if (count > top.count)
		select_first(entries, count, top.count);
	else
		top.count = count;
	qsort(entries, top.count, sizeof(*entries), compare);
	top.rows = malloc((top.count + 1) * sizeof(*top.rows));
	if (!top.rows)
		return err_no_memory();
	for (uint64_t i = 0; i < top.count; i++)
		top.rows[i] = choosing->descending ? ~entries[i].row : entries[i].row;
	*ret = top;
	return NULL;
}

struct err *block_top_create(const uint64_t *bits, const uint64_t *keys, uint64_t blocks,
			     bool descending, uint64_t wanted, struct block_top *ret)
{
	size_t pieces = parallel_pieces(blocks, PIECE_MIN);
	auto_free struct entry *entries = malloc(pieces * 2 * wanted * sizeof(*entries));
	auto_free size_t *counts = calloc(pieces, sizeof(*counts));
	struct choosing choosing = {
		.bits = bits,
		.keys = keys,
		.blocks = blocks,
		.piece = blocks / pieces + 1,
		.wanted = wanted,
		.descending = descending,
		.entries = entries,
		.counts = counts,
	};

	if (!entries || !counts)
		return err_no_memory();
	parallel_run(choose_piece, &choosing, pieces);
	return join(&choosing, pieces, ret);
}

void block_top_deinit(struct block_top *top)
{
	free(top->rows);
	*top = (struct block_top){0};
}
