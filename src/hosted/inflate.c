#include "hosted/inflate.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"

/*
 * An entry of a table, found by the next bits:
 *
 *	literal		31 set, 16 its byte, 0 the bits of its code
 *	length,		16 the least of those that the code is for, 8 the bits of the code,
 *	distance	0 these and those that say how much more it is
 *	others		15 set, and one of the following
 *	end of block	14 set, 0 the bits of the code
 *	longer codes	16 where their table begins, 8 by how many bits it is looked up, 0 how many
 *were looked at no code		0 to 7 and 13 are not set
 */
#define LITERAL      (1u << 31)
#define EXCEPTIONAL  (1u << 15)
#define END_OF_BLOCK (1u << 14)
#define LONGER       (1u << 13)

#define CODE_BITS_MAX   15
#define LENGTH_CODES    19 /* codes for the lengths of codes */
#define LENGTH_BITS_MAX 7
#define SYMBOLS_MAX     288
#define DISTANCES_MAX   32
#define END_SYMBOL      256

/* Among the lengths of codes. */
#define LENGTH_AS_BEFORE 16
#define LENGTH_NONE      17
#define LENGTH_NONE_LONG 18

enum block { BLOCK_STORED, BLOCK_FIXED, BLOCK_DYNAMIC };

static uint32_t bits_of(uint32_t entry)
{
	return entry & 0xff;
}

static uint32_t code_bits_of(uint32_t entry)
{
	return entry >> 8 & 0xf;
}

static uint32_t value_of(uint32_t entry)
{
	return entry >> 16;
}

/* Of a length or distance with so many more bits. */
static uint32_t base_entry(uint32_t base, uint32_t more)
{
	return base << 16 | more;
}

/* What a symbol stands for, but for its code's bits. */
static uint32_t symbol_entry(unsigned symbol)
{
	static const uint16_t bases[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					 15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					 67, 83, 99, 115, 131, 163, 195, 227, 258};
	unsigned length = symbol - END_SYMBOL - 1;

	if (symbol < END_SYMBOL)
		return LITERAL | symbol << 16;
	if (symbol == END_SYMBOL)
		return EXCEPTIONAL | END_OF_BLOCK;
	if (length >= ARRAY_COUNT(bases))
		return EXCEPTIONAL;
	return base_entry(bases[length], length < 8 || length == 28 ? 0 : length / 4 - 1);
}

static uint32_t distance_entry(unsigned symbol)
{
	if (symbol < 4)
		return base_entry(symbol + 1, 0);
	if (symbol >= 30)
		return EXCEPTIONAL;

	unsigned more = symbol / 2 - 1;

	return base_entry(((2 + symbol % 2) << more) + 1, more);
}

static uint32_t length_entry(unsigned symbol)
{
	return base_entry(symbol, 0);
}

static uint32_t with_code(uint32_t entry, uint32_t bits)
{
	return (entry + bits) | bits << 8;
}

static unsigned reversed(unsigned code, unsigned bits)
{
	code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
	code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
	code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
	code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
	return code >> (16 - bits);
}

/* The codes of an alphabet: its symbols' lengths say all. */
struct alphabet {
	const uint8_t *lengths; /* 0: the symbol does not occur */
	unsigned count;
	uint32_t (*entry)(unsigned symbol);
	unsigned bits; /* by which the table is looked up */
	bool sparse;   /* a single code may leave half of what there could be unused */
};

/*
 * The first code of each length. false: more codes than there can be, or fewer, but for one of a
 * single bit, or none at all.
 */
static bool first_codes(const struct alphabet *alphabet, unsigned codes[CODE_BITS_MAX + 2])
{
	unsigned counts[CODE_BITS_MAX + 1] = {0}, used;

	for (unsigned i = 0; i < alphabet->count; i++)
		counts[alphabet->lengths[i]]++;
	used = alphabet->count - counts[0];
	counts[0] = codes[0] = 0;
	for (unsigned i = 1; i <= CODE_BITS_MAX + 1; i++) {
		codes[i] = (codes[i - 1] + counts[i - 1]) << 1;
		if (codes[i] > 1u << i)
			return false;
	}
	return codes[CODE_BITS_MAX + 1] == 1u << (CODE_BITS_MAX + 1) || !used ||
	       (alphabet->sparse && used == 1 && counts[1]);
}

/* Tables for codes that are longer than the first one is looked up by, behind it. */
static void begin_longer(const struct alphabet *alphabet, const unsigned first[CODE_BITS_MAX + 2],
			 uint32_t *table)
{
	uint8_t most[1 << INFLATE_SYMBOL_BITS] = {0};
	unsigned codes[CODE_BITS_MAX + 2], bits = alphabet->bits, end = 1u << bits;
	bool any = false;

	memcpy(codes, first, sizeof(codes));
	for (unsigned i = 0; i < alphabet->count; i++) {
		unsigned length = alphabet->lengths[i], code = codes[length]++;

		if (length <= bits)
			continue;
		any = true;
		if (most[code >> (length - bits)] < length - bits)
			most[code >> (length - bits)] = (uint8_t)(length - bits);
	}
	for (unsigned i = 0; any && i < 1u << bits; i++) {
		if (!most[i])
			continue;
		table[reversed(i, bits)] =
			EXCEPTIONAL | LONGER | end << 16 | (uint32_t)most[i] << 8 | bits;
		end += 1u << most[i];
	}
}

static bool build(const struct alphabet *alphabet, uint32_t *table)
{
	unsigned codes[CODE_BITS_MAX + 2], bits = alphabet->bits;

	if (!first_codes(alphabet, codes))
		return false;
	for (unsigned i = 0; i < 1u << bits; i++)
		table[i] = EXCEPTIONAL;
	begin_longer(alphabet, codes, table);
	for (unsigned i = 0; i < alphabet->count; i++) {
		unsigned length = alphabet->lengths[i];

		if (!length)
			continue;

		unsigned code = reversed(codes[length]++, length), room = bits;
		uint32_t *at = table;

		if (length > bits) {
			uint32_t longer = table[code & ((1u << bits) - 1)];

			at = table + value_of(longer);
			room = code_bits_of(longer);
			code >>= bits;
			length -= bits;
		}
		for (unsigned j = code; j < 1u << room; j += 1u << length)
			at[j] = with_code(alphabet->entry(i), length);
	}
	return true;
}

/* There are at least 56 bits then. What is above `count` is set already as the next bytes say. */
static inline void refill(struct inflate_bits *bits)
{
	bits->value |= bytes_u64(bits->in) << bits->count;
	bits->in += (63 - bits->count) >> 3;
	bits->count |= 56;
}

static inline void skip(struct inflate_bits *bits, uint32_t count)
{
	bits->value >>= count;
	bits->count -= count;
}

/* The lowest ones. */
static inline uint64_t peek(const struct inflate_bits *bits, uint32_t count)
{
	return bits->value & ((UINT64_C(1) << count) - 1);
}

/* The entry of a longer code, of which the table's own bits are skipped. */
static inline uint32_t longer(struct inflate_bits *bits, const uint32_t *table, uint32_t entry)
{
	skip(bits, bits_of(entry));
	return table[value_of(entry) + peek(bits, code_bits_of(entry))];
}

/* The length or distance of an entry, with what the bits behind its code add. */
static inline size_t take_value(struct inflate_bits *bits, uint32_t entry)
{
	size_t value = value_of(entry) + (peek(bits, bits_of(entry)) >> code_bits_of(entry));

	skip(bits, bits_of(entry));
	return value;
}

/* Has as many bits as any code and what is behind it need; false: the input has ended. */
static bool prepare(struct inflate *state)
{
	if (state->bits.in > state->limit)
		state->damaged = true;
	else
		refill(&state->bits);
	return !state->damaged;
}

/* Bits outside of codes; 0 once the input has ended. */
static uint32_t take(struct inflate *state, unsigned count)
{
	uint32_t value;

	if (!prepare(state))
		return 0;
	value = (uint32_t)peek(&state->bits, count);
	skip(&state->bits, count);
	return value;
}

static bool read_stored(struct inflate *state)
{
	struct inflate_bits *bits = &state->bits;

	skip(bits, bits->count & 7);

	uint32_t size = take(state, 16), check = take(state, 16);

	bits->in -= bits->count >> 3;
	bits->value = bits->count = 0;
	if (state->damaged || size != (check ^ 0xffff) || bits->in > state->in_end ||
	    size > (size_t)(state->in_end - bits->in) || size > state->size - state->done)
		return false;
	memcpy(state->out + state->done, bits->in, size);
	bits->in += size;
	state->done += size;
	return true;
}

/* How often the length that symbol means follows; 0: there is none to repeat. */
static unsigned take_repeat(struct inflate *state, unsigned symbol, bool first)
{
	switch (symbol) {
	case LENGTH_AS_BEFORE:
		return first ? 0 : 3 + take(state, 2);
	case LENGTH_NONE:
		return 3 + take(state, 3);
	case LENGTH_NONE_LONG:
		return 11 + take(state, 7);
	default:
		return 1;
	}
}

/* The lengths of the codes of both alphabets, one behind the other. */
static bool read_lengths(struct inflate *state, unsigned count, uint8_t *lengths)
{
	const uint32_t *table = state->distances; // which are not read yet

	for (unsigned i = 0; i < count && prepare(state);) {
		uint32_t entry = table[peek(&state->bits, LENGTH_BITS_MAX)];
		unsigned symbol = value_of(entry), repeat;
		uint8_t length = 0;

		if (entry & EXCEPTIONAL)
			return false;
		skip(&state->bits, bits_of(entry));
		repeat = take_repeat(state, symbol, !i);
		if (!repeat || repeat > count - i)
			return false;
		if (symbol <= LENGTH_AS_BEFORE)
			length = symbol == LENGTH_AS_BEFORE ? lengths[i - 1] : (uint8_t)symbol;
		memset(lengths + i, length, repeat);
		i += repeat;
	}
	return !state->damaged;
}

static bool read_dynamic(struct inflate *state)
{
	static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						    11, 4,  12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[SYMBOLS_MAX + DISTANCES_MAX] = {0};
	unsigned symbols = 257 + take(state, 5), distances = 1 + take(state, 5);
	unsigned count = 4 + take(state, 4);

	for (unsigned i = 0; i < count; i++)
		lengths[order[i]] = (uint8_t)take(state, 3);
	if (symbols > SYMBOLS_MAX - 2 || distances > DISTANCES_MAX - 2 ||
	    !build(&(struct alphabet){lengths, LENGTH_CODES, length_entry, LENGTH_BITS_MAX, false},
		   state->distances) ||
	    !read_lengths(state, symbols + distances, lengths) || !lengths[END_SYMBOL])
		return false;
	return build(&(struct alphabet){lengths, symbols, symbol_entry, INFLATE_SYMBOL_BITS, true},
		     state->symbols) &&
	       build(&(struct alphabet){lengths + symbols, distances, distance_entry,
					INFLATE_DISTANCE_BITS, true},
		     state->distances);
}

static bool read_fixed(struct inflate *state)
{
	uint8_t lengths[SYMBOLS_MAX + DISTANCES_MAX];

	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 256 - 144);
	memset(lengths + 256, 7, 280 - 256);
	memset(lengths + 280, 8, SYMBOLS_MAX - 280);
	memset(lengths + SYMBOLS_MAX, 5, DISTANCES_MAX);
	return build(&(struct alphabet){lengths, SYMBOLS_MAX, symbol_entry, INFLATE_SYMBOL_BITS,
					true},
		     state->symbols) &&
	       build(&(struct alphabet){lengths + SYMBOLS_MAX, DISTANCES_MAX, distance_entry,
					INFLATE_DISTANCE_BITS, true},
		     state->distances);
}

static bool read_block(struct inflate *state)
{
	if (state->last_block)
		return false;
	state->last_block = take(state, 1);
	switch (take(state, 2)) {
	case BLOCK_STORED:
		return read_stored(state);
	case BLOCK_FIXED:
		state->in_block = read_fixed(state);
		break;
	case BLOCK_DYNAMIC:
		state->in_block = read_dynamic(state);
		break;
	}
	return state->in_block && !state->damaged;
}

/* Up to 15 bytes more are written. */
static inline void copy(uint8_t *to, size_t distance, size_t length)
{
	const uint8_t *from = to - distance;
	uint8_t *end = to + length;

	if (likely(distance >= 8)) {
		do {
			bytes_put_u64(to, bytes_u64(from));
			bytes_put_u64(to + 8, bytes_u64(from + 8));
			to += 16;
			from += 16;
		} while (to < end);
	} else {
		do {
			*to++ = *from++;
		} while (to < end);
	}
}

/*
 * The symbols of a block, until the output is long enough, the block ends or the input does. An
 * entry is looked up before the copy that precedes it is made. The bits of a match are 48 at most,
 * of a literal found at once 11: a refill serves three of these.
 */
static bool decode(struct inflate *state, size_t wanted)
{
	const uint32_t *symbols = state->symbols, *distances = state->distances;
	uint8_t *out = state->out + state->done, *const target = state->out + wanted;
	struct inflate_bits bits;
	uint32_t entry;
	bool good = true;

	if (!prepare(state))
		return false;
	bits = state->bits;
	entry = symbols[peek(&bits, INFLATE_SYMBOL_BITS)];
	while (out < target && bits.in <= state->limit) {
		size_t length, distance;

		for (int i = 0; i < 3 && entry & LITERAL; i++) {
			skip(&bits, bits_of(entry));
			*out++ = (uint8_t)value_of(entry);
			entry = symbols[peek(&bits, INFLATE_SYMBOL_BITS)];
		}
		refill(&bits);
		if (entry & LITERAL)
			continue;
		if (unlikely(entry & EXCEPTIONAL)) {
			if (entry & LONGER)
				entry = longer(&bits, symbols, entry);
			if (entry & LITERAL) {
				skip(&bits, bits_of(entry));
				*out++ = (uint8_t)value_of(entry);
				refill(&bits);
				entry = symbols[peek(&bits, INFLATE_SYMBOL_BITS)];
				continue;
			}
			if (entry & EXCEPTIONAL) {
				skip(&bits, bits_of(entry));
				good = entry & END_OF_BLOCK;
				state->in_block = false;
				break;
			}
		}
		length = take_value(&bits, entry);
		entry = distances[peek(&bits, INFLATE_DISTANCE_BITS)];
		if (unlikely(entry & LONGER))
			entry = longer(&bits, distances, entry);
		distance = take_value(&bits, entry);
		if (unlikely(entry & EXCEPTIONAL || distance > (size_t)(out - state->out))) {
			good = false;
			break;
		}
		refill(&bits);
		entry = symbols[peek(&bits, INFLATE_SYMBOL_BITS)];
		copy(out, distance, length);
		out += length;
	}
	state->bits = bits;
	state->done = (size_t)(out - state->out);
	return good;
}

bool inflate_begin(struct inflate *state, const uint8_t *in, size_t in_size, uint8_t *out,
		   size_t size)
{
	// The header is a multiple of 31; "deflate", 32 KiB of window at most, no dictionary.
	if (in_size < 2 || (in[0] << 8 | in[1]) % 31 || (in[0] & 0xf) != 8 || in[0] >> 4 > 7 ||
	    in[1] & 0x20)
		return false;
	state->bits = (struct inflate_bits){.in = in + 2};
	state->in_end = in + in_size;
	state->limit = state->in_end + 8;
	state->damaged = state->in_block = state->last_block = false;
	state->out = out;
	state->size = size;
	state->done = 0;
	return true;
}

bool inflate_until(struct inflate *state, size_t wanted)
{
	while (!state->damaged && state->done < wanted) {
		if (!(state->in_block ? decode(state, wanted) : read_block(state)) ||
		    state->done > state->size ||
		    state->bits.in - (state->bits.count >> 3) > state->in_end)
			state->damaged = true;
	}
	return !state->damaged;
}
