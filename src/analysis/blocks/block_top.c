#include "analysis/blocks/block_top.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/*
 * A radix select: finds the entry digit by digit, the highest first, of its key and then its row.
 * Counting each digit among the entries that have the digits found so far tells the next digit, and
 * the entry's rank among those with that digit. Digits that are the same in all keys are known
 * beforehand.
 */
#define DIGIT_BITS 16
#define DIGITS     (1u << DIGIT_BITS)
#define KEY_DIGITS 4
#define ROW_DIGITS 2

/* Fewer blocks than this are not worth a thread, and the counts or entries that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

struct ranking {
	const struct block_sort_keys *entries;
	uint64_t piece;              /* rows of a piece */
	struct block_sort_key found; /* the digits found so far, then 0 */
	unsigned int digit;          /* the digit being counted, from the highest */
	uint32_t *counts;            /* DIGITS counts for each piece, one piece after the other */
	uint64_t ones, zeros;        /* bits set in some key, and bits not set in some key */
};

static unsigned int shift_of(unsigned int digit)
{
	unsigned int behind =
		digit < KEY_DIGITS ? KEY_DIGITS - 1 - digit : KEY_DIGITS + ROW_DIGITS - 1 - digit;

	return behind * DIGIT_BITS;
}

static void note_bits(void *argument, size_t number)
{
	struct ranking *ranking = argument;
	uint64_t begin = number * ranking->piece, end = begin + ranking->piece;
	uint64_t ones = 0, zeros = 0;

	if (end > ranking->entries->blocks)
		end = ranking->entries->blocks;
	for (uint64_t i = begin; i < end; i++) {
		ones |= ranking->entries->keys[i];
		zeros |= ~ranking->entries->keys[i];
	}
	__atomic_or_fetch(&ranking->ones, ones, __ATOMIC_RELAXED);
	__atomic_or_fetch(&ranking->zeros, zeros, __ATOMIC_RELAXED);
}

/* The digits above a digit, at their place; 0 for the highest digit. */
static uint64_t above(uint64_t value, unsigned int shift)
{
	return shift + DIGIT_BITS < 64 ? value >> (shift + DIGIT_BITS) : 0;
}

static void count_key_digits(const struct ranking *ranking, uint64_t begin, uint64_t end,
			     uint32_t *counts)
{
	const struct block_sort_keys *entries = ranking->entries;
	unsigned int shift = shift_of(ranking->digit);
	uint64_t prefix = above(ranking->found.key, shift);

	for (uint64_t i = block_bits_next(entries->bits, end, begin); i < end;
	     i = block_bits_next(entries->bits, end, i + 1)) {
		uint64_t key = block_sort_key_at(entries, i).key;

		counts[key >> shift & (DIGITS - 1)] += above(key, shift) == prefix;
	}
}

static void count_row_digits(const struct ranking *ranking, uint64_t begin, uint64_t end,
			     uint32_t *counts)
{
	const struct block_sort_keys *entries = ranking->entries;
	unsigned int shift = shift_of(ranking->digit);
	uint64_t prefix = above(ranking->found.row, shift);

	for (uint64_t i = block_bits_next(entries->bits, end, begin); i < end;
	     i = block_bits_next(entries->bits, end, i + 1)) {
		struct block_sort_key entry = block_sort_key_at(entries, i);

		counts[entry.row >> shift & (DIGITS - 1)] +=
			entry.key == ranking->found.key && above(entry.row, shift) == prefix;
	}
}

static void count_piece(void *argument, size_t number)
{
	const struct ranking *ranking = argument;
	uint64_t begin = number * ranking->piece, end = begin + ranking->piece;
	uint32_t *counts = ranking->counts + number * DIGITS;

	if (end > ranking->entries->blocks)
		end = ranking->entries->blocks;
	memset(counts, 0, DIGITS * sizeof(*counts));
	if (ranking->digit < KEY_DIGITS)
		count_key_digits(ranking, begin, end, counts);
	else
		count_row_digits(ranking, begin, end, counts);
}

/*
 * Finds the next digit. *rank: among entries with the digits before; becomes that among those with
 * this one, too.
 */
static uint64_t find_digit(const struct ranking *ranking, size_t pieces, uint64_t *rank)
{
	uint64_t digit = 0;

	for (;; digit++) {
		uint64_t count = 0;

		for (size_t i = 0; i < pieces; i++)
			count += ranking->counts[i * DIGITS + digit];
		if (*rank < count || digit == DIGITS - 1)
			return digit;
		*rank -= count;
	}
}

/* Whether the next digit is the same in all keys. If so, takes it. */
static bool is_known(struct ranking *ranking)
{
	uint64_t mask = (uint64_t)(DIGITS - 1) << shift_of(ranking->digit);
	uint64_t key = ranking->entries->descending ? ranking->zeros : ranking->ones;

	if (ranking->digit >= KEY_DIGITS || ranking->ones & ranking->zeros & mask)
		return false;
	ranking->found.key |= key & mask;
	return true;
}

static void find_next(struct ranking *ranking, size_t pieces, uint64_t *rank)
{
	uint64_t digit;

	parallel_run(count_piece, ranking, pieces);
	digit = find_digit(ranking, pieces, rank) << shift_of(ranking->digit);
	if (ranking->digit < KEY_DIGITS)
		ranking->found.key |= digit;
	else
		ranking->found.row |= (uint32_t)digit;
}

/*
 * *ret: a sort key that exactly `rank` matching blocks come before. rank: below the number of
 * blocks that match. Looks at each block at most seven times, with all processors. The only error:
 * no memory.
 */
static struct err *block_nth_find(const struct block_sort_keys *entries, uint64_t rank,
				  struct block_sort_key *ret)
{
	size_t pieces = parallel_pieces(entries->blocks, PIECE_MIN);
	auto_free uint32_t *counts = malloc(pieces * DIGITS * sizeof(*counts));
	struct ranking ranking = {
		.entries = entries,
		.piece = entries->blocks / pieces + 1,
		.counts = counts,
	};

	if (!counts)
		return err_no_memory();
	parallel_run(note_bits, &ranking, pieces);
	// With rank 0 it is the first of those that begin so, whatever digits follow.
	for (; rank && ranking.digit < KEY_DIGITS + ROW_DIGITS; ranking.digit++)
		if (!is_known(&ranking))
			find_next(&ranking, pieces, &rank);
	*ret = ranking.found;
	return NULL;
}

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
