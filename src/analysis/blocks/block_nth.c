#include "analysis/blocks/block_nth.h"

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

/* Fewer blocks than this are not worth a thread, and the counts that it fills. */
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

struct err *block_nth_find(const struct block_sort_keys *entries, uint64_t rank,
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
