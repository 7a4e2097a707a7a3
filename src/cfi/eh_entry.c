/* FDEs and CIEs. See eh_entry.h. */
#include "cfi/eh_entry.h"

#define AUGMENTATION_MAX 8
#define IS_64_BIT        0xffffffff /* instead of a length: the length follows, as 64 bits */

struct eh_cursor eh_entry_at(const struct eh_image *image, uint64_t address)
{
	struct eh_cursor cursor = {.image = image, .end = image->size};

	if (address - image->address > image->size)
		cursor.bad = true;
	else
		cursor.position = (size_t)(address - image->address);
	return cursor;
}

uint64_t eh_entry_enter(struct eh_cursor *cursor, enum eh_format format)
{
	uint64_t size = eh_cursor_u32(cursor);
	bool is_64_bit = size == IS_64_BIT;
	uint64_t field, id;

	if (is_64_bit)
		size = eh_cursor_u64(cursor);
	// A length of zero ends the section.
	if (size == 0 || size > eh_cursor_left(cursor))
		cursor->bad = true;
	else
		cursor->end = cursor->position + (size_t)size;
	field = eh_cursor_address(cursor);
	if (format == EH_FORMAT_EH_FRAME) {
		id = eh_cursor_u32(cursor);
		return id == 0 ? EH_ENTRY_IS_CIE : field - id;
	}
	id = is_64_bit ? eh_cursor_u64(cursor) : eh_cursor_u32(cursor);
	if (id == (is_64_bit ? UINT64_MAX : UINT32_MAX))
		return EH_ENTRY_IS_CIE;
	return cursor->image->address + id;
}

/* Reads the data that the letters of a CIE's augmentation announce. */
static bool read_augmentation(struct eh_cursor *cursor, const uint8_t *letters,
			      struct eh_entry *cie)
{
	uint64_t size = eh_cursor_uleb(cursor);
	struct eh_cursor data = *cursor;

	if (!eh_cursor_take(cursor, size))
		return false;
	data.end = cursor->position;
	for (const uint8_t *letter = letters + 1; *letter; letter++) {
		uint8_t encoding;

		switch (*letter) {
		case 'R':
			cie->encoding = eh_cursor_u8(&data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'L':
			eh_cursor_u8(&data);
			break;
		case 'P': // personality: step over it; it may be indirect
			encoding = eh_cursor_u8(&data);
			eh_cursor_pointer(&data, encoding & EH_PE_FORMAT, 0);
			break;
		default: // unknown: 'z' gave the size, so the rest can be skipped
			return !data.bad;
		}
	}
	return !data.bad;
}

bool eh_entry_read_cie(struct eh_cursor cursor, enum eh_format format, struct eh_entry *ret)
{
	uint8_t letters[AUGMENTATION_MAX + 1] = {0};
	uint8_t version;
	unsigned n = 0;

	if (eh_entry_enter(&cursor, format) != EH_ENTRY_IS_CIE)
		return false;
	version = eh_cursor_u8(&cursor);
	while ((letters[n] = eh_cursor_u8(&cursor)) != 0) {
		if (++n == AUGMENTATION_MAX)
			return false;
	}
	if (version == 4)
		eh_cursor_take(&cursor, 2); // address and segment selector sizes
	*ret = (struct eh_entry){.encoding = EH_PE_ABSPTR};
	ret->program.code_align = eh_cursor_uleb(&cursor);
	ret->program.data_align = eh_cursor_sleb(&cursor);
	ret->program.ra_register = version == 1 ? eh_cursor_u8(&cursor) : eh_cursor_uleb(&cursor);
	ret->sized_augmentation = letters[0] == 'z';
	if (ret->sized_augmentation && !read_augmentation(&cursor, letters, ret))
		return false;
	// Assemblers leave the 'z' out of .debug_frame. An 'S' has no data.
	ret->signal |= letters[0] == 'S' && letters[1] == 0;
	if (!ret->sized_augmentation && letters[0] != 0 && !ret->signal)
		return false;
	ret->program.address_encoding = ret->encoding;
	ret->program.initial = cursor;
	return !cursor.bad && (version == 1 || version == 3 || version == 4);
}

bool eh_entry_read_fde(struct eh_cursor body, struct eh_entry *ret)
{
	ret->program.start = eh_cursor_pointer(&body, ret->encoding, 0);
	ret->size = eh_cursor_pointer(&body, ret->encoding & EH_PE_FORMAT, 0);
	if (ret->sized_augmentation)
		eh_cursor_take(&body, eh_cursor_uleb(&body));
	ret->program.instructions = body;
	return !body.bad;
}
