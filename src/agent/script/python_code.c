#include "agent/script/python_code.h"

#include "agent/script/python.h"
#include "agent/unwind/stack_bounds.h"

#include "base/compiler.h"
#include "trace/checksum.h"

/* Objects that can be longer: the length, and where the bytes of a bytes object begin. */
#define LENGTH_OFFSET 16
#define BYTES_OFFSET  32
#define STATE_OFFSET  32 /* of a string: its kind and form, as bits */
#define STRING_SIZE   40 /* so much is read of one's head */

#define TEXT_MAX  65536
#define TABLE_MAX (1u << 20)
#define CODE_SIZE 144u /* so much is read of a code object */

/* A string's characters, in memory that can be read. */
struct characters {
	uint64_t start; /* 0: they cannot be read */
	uint64_t count;
	unsigned width; /* bytes of each: 1, 2, 4 */
};

static struct characters characters_of(const struct python_layout *layout,
				       const struct unwind_stack *stack, uint64_t object)
{
	struct characters ret = {0};
	uint32_t state;

	if (!script_can_read(stack, object, STRING_SIZE))
		return ret;
	state = script_half(object, STATE_OFFSET);
	ret.width = state >> 2 & 7;
	ret.count = script_word(object, LENGTH_OFFSET);
	// Of the names of code objects all are compact: the characters lie behind the head.
	if (!(state >> 5 & 1) || (ret.width != 1 && ret.width != 2 && ret.width != 4))
		return ret;
	if (ret.count > TEXT_MAX)
		ret.count = TEXT_MAX;
	ret.start = object + (uint64_t)(state >> 6 & 1 ? layout->ascii_text : layout->text);
	if (ret.count &&
	    !stack_bounds_can_read(stack, ret.start, ret.start + ret.count * ret.width))
		ret.start = 0;
	return ret;
}

/* The table of lines, in memory that can be read. NULL: it cannot. */
static const uint8_t *table_of(const struct python_layout *layout, const struct unwind_stack *stack,
			       uint64_t code, uint64_t *size)
{
	uint64_t object = script_word(code, layout->lines);

	if (!script_can_read(stack, object, BYTES_OFFSET))
		return NULL;
	*size = script_word(object, LENGTH_OFFSET);
	if (*size > TABLE_MAX)
		return NULL;
	object += BYTES_OFFSET;
	return *size && !stack_bounds_can_read(stack, object, object + *size)
		       ? NULL
		       : (const uint8_t *)(uintptr_t)object;
}

static bool add_text(XXH64_state_t *hash, struct characters characters)
{
	if (!characters.start)
		return false;
	XXH64_update(hash, &characters.count, sizeof(characters.count));
	XXH64_update(hash, (const void *)(uintptr_t)characters.start,
		     characters.count * characters.width);
	return true;
}

static never_inline uint64_t hash_slow(const struct unwind_stack *stack, struct script_codes *codes,
				       const struct script_code_words *words, uint64_t code)
{
	const struct python_layout *layout = python_layout;
	struct script_code *known;
	XXH64_state_t hash;
	const uint8_t *table;
	uint64_t size = 0;

	if (!script_can_read(stack, code, CODE_SIZE))
		return 0;
	known = script_codes_learn(words, codes, code);
	XXH64_reset(&hash, known->first_line);
	table = table_of(layout, stack, code, &size);
	if (!add_text(&hash, characters_of(layout, stack, known->file)) ||
	    !add_text(&hash, characters_of(layout, stack, known->name)) || !table)
		return 0;
	XXH64_update(&hash, table, size);
	known->hash = XXH64_digest(&hash) | 1;
	return known->hash;
}

uint64_t python_code_hash(const struct unwind_stack *stack, struct script_codes *codes,
			  uint64_t code)
{
	const struct python_layout *layout = python_layout;
	const struct script_code_words words = {
		.file = layout->file,
		.name = layout->name,
		.lines = layout->lines,
		.first_line = layout->first_line,
		.version = layout->version,
	};
	uint64_t hash = script_codes_find(&words, codes, code);

	return likely(hash) ? hash : hash_slow(stack, codes, &words, code);
}

/* A number of a table since 3.11: six bits a byte, the lowest first, bit 6 says that more follow.
 */
static uint32_t number(const uint8_t **at, const uint8_t *end)
{
	uint32_t ret = 0;

	for (unsigned shift = 0; *at < end; shift += 6) {
		uint8_t byte = *(*at)++;

		if (shift < 32)
			ret |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return ret;
}

static int32_t signed_number(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = number(at, end);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/*
 * These take the entries of a table until one covers the offset. from: what is known before the
 * next entry; it stays in front of the one that is found.
 *
 * Since 3.11: a head, and bytes that depend on its kind (Objects/locations.md).
 */
static uint32_t line_by_locations(const uint8_t *table, const uint8_t *end, int32_t offset,
				  struct script_lines *from)
{
	const uint8_t *at = table + from->at;

	while (at < end) {
		uint8_t head = *at++;
		unsigned kind = head >> 3 & 15;
		int32_t next = from->next + ((head & 7) + 1) * 2;
		uint32_t line = from->line;

		if (kind == 14 || kind == 13)
			line += (uint32_t)signed_number(&at, end);
		if (kind == 14) {
			for (int i = 0; i < 3; i++)
				number(&at, end);
		} else if (kind >= 10 && kind < 13) {
			line += kind - 10;
			at += 2;
		} else if (kind < 10) {
			at++;
		}
		if (offset < next)
			return kind == 15 ? 0 : line;
		from->at = (uint64_t)(at - table);
		from->next = next;
		from->line = line;
	}
	return from->line;
}

/*
 * 3.10: pairs of a length in bytes and a step in lines, -128: no line (Objects/lnotab_notes.txt).
 */
static uint32_t line_by_ranges(const uint8_t *table, const uint8_t *end, int32_t offset,
			       struct script_lines *from)
{
	for (const uint8_t *at = table + from->at; end - at >= 2; at += 2) {
		int8_t step = (int8_t)at[1];
		uint32_t line = from->line + (step == -128 ? 0 : (uint32_t)step);

		if (at[0] && offset < from->next + at[0])
			return step == -128 ? 0 : line;
		from->at += 2;
		from->next += at[0];
		from->line = line;
	}
	return from->line;
}

/* 3.9: pairs of steps in bytes and in lines. */
static uint32_t line_by_steps(const uint8_t *table, const uint8_t *end, int32_t offset,
			      struct script_lines *from)
{
	for (const uint8_t *at = table + from->at; end - at >= 2; at += 2) {
		if (from->next + at[0] > offset)
			break;
		from->at += 2;
		from->next += at[0];
		from->line += (uint32_t)(int8_t)at[1];
	}
	return from->line;
}

uint32_t python_code_line(const struct unwind_stack *stack, uint64_t code, uint64_t hash,
			  int32_t offset, struct script_lines *from)
{
	const struct python_layout *layout = python_layout;
	uint64_t size = 0;
	const uint8_t *table = table_of(layout, stack, code, &size);

	if (offset < 0) // it has not begun
		return script_half(code, layout->first_line);
	if (!table)
		return 0;
	if (from->code != hash || offset < from->next || from->at > size)
		*from = (struct script_lines){.code = hash,
					      .line = script_half(code, layout->first_line)};
	if (layout->minor >= 11)
		return line_by_locations(table, table + size, offset, from);
	return layout->minor == 10 ? line_by_ranges(table, table + size, offset, from)
				   : line_by_steps(table, table + size, offset, from);
}

/* Puts a character as UTF-8. Halves of surrogate pairs and what is no character become U+FFFD. */
static char *put_character(char *to, uint32_t c)
{
	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff || !c)
		c = 0xfffd;
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 63));
		}
		*to++ = (char)(0x80 | (c >> 6 & 63));
	}
	*to++ = (char)(0x80 | (c & 63));
	return to;
}

size_t python_text(const struct unwind_stack *stack, uint64_t object, char *to, size_t room)
{
	struct characters from = characters_of(python_layout, stack, object);
	char *at = to;

	for (uint64_t i = 0; from.start && i < from.count && room - (size_t)(at - to) >= 4; i++) {
		const uint8_t *c = (const uint8_t *)(uintptr_t)(from.start + i * from.width);

		at = put_character(at, from.width == 1   ? *c
				       : from.width == 2 ? bytes_u16(c)
							 : bytes_u32(c));
	}
	return (size_t)(at - to);
}
