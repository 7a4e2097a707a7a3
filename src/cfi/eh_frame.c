/* .eh_frame_hdr, FDEs and CIEs. See eh_frame.h. */
#include "cfi/eh_frame.h"

#define HDR_TABLE_ENCODING   (EH_PE_DATAREL | EH_PE_SDATA4) /* the only one linkers write */
#define CIE_AUGMENTATION_MAX 8

struct cie {
	struct cfa_program program;
	uint8_t fde_encoding;
	bool sized_augmentation; /* 'z' */
	bool signal;
};

static struct eh_cursor cursor_at(const struct eh_image *image, uint64_t address)
{
	struct eh_cursor cursor = {.image = image, .end = image->size};

	if (address - image->address > image->size)
		cursor.bad = true;
	else
		cursor.position = (size_t)(address - image->address);
	return cursor;
}

/*
 * Reads the length of the CIE or FDE at the cursor, and limits the cursor to its body, from the CIE
 * pointer on. A length of zero ends the section.
 */
static void enter_entry(struct eh_cursor *cursor)
{
	uint64_t size = eh_cursor_u32(cursor);

	if (size == 0xffffffff)
		size = eh_cursor_u64(cursor);
	if (size == 0 || size > eh_cursor_left(cursor))
		cursor->bad = true;
	else
		cursor->end = cursor->position + (size_t)size;
}

/* Reads the data that the letters of a CIE's augmentation announce. */
static bool read_augmentation(struct eh_cursor *cursor, const uint8_t *letters, struct cie *cie)
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
			cie->fde_encoding = eh_cursor_u8(&data);
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

static bool read_cie(struct eh_cursor cursor, struct cie *ret)
{
	uint8_t letters[CIE_AUGMENTATION_MAX + 1] = {0};
	uint8_t version;
	unsigned n = 0;

	enter_entry(&cursor);
	if (eh_cursor_u32(&cursor) != 0) // the id of a CIE
		return false;
	version = eh_cursor_u8(&cursor);
	while ((letters[n] = eh_cursor_u8(&cursor)) != 0) {
		if (++n == CIE_AUGMENTATION_MAX)
			return false;
	}
	if (version == 4)
		eh_cursor_take(&cursor, 2); // address and segment selector sizes
	*ret = (struct cie){.fde_encoding = EH_PE_ABSPTR};
	ret->program.code_align = eh_cursor_uleb(&cursor);
	ret->program.data_align = eh_cursor_sleb(&cursor);
	ret->program.ra_register = version == 1 ? eh_cursor_u8(&cursor) : eh_cursor_uleb(&cursor);
	ret->sized_augmentation = letters[0] == 'z';
	if (ret->sized_augmentation && !read_augmentation(&cursor, letters, ret))
		return false;
	if (!ret->sized_augmentation && letters[0] != 0)
		return false;
	ret->program.address_encoding = ret->fde_encoding;
	ret->program.initial = cursor;
	return !cursor.bad && (version == 1 || version == 3 || version == 4);
}

/* Reads the FDE at the cursor and its CIE. */
static enum eh_frame_answer read_fde(struct eh_cursor cursor, uint64_t pc, struct cie *ret)
{
	uint64_t id_address, cie_offset, start, size;

	enter_entry(&cursor);
	id_address = eh_cursor_address(&cursor);
	cie_offset = eh_cursor_u32(&cursor);
	if (cursor.bad || cie_offset == 0)
		return EH_FRAME_BAD;
	if (!read_cie(cursor_at(cursor.image, id_address - cie_offset), ret))
		return EH_FRAME_BAD;
	start = eh_cursor_pointer(&cursor, ret->fde_encoding, 0);
	size = eh_cursor_pointer(&cursor, ret->fde_encoding & EH_PE_FORMAT, 0);
	if (ret->sized_augmentation)
		eh_cursor_take(&cursor, eh_cursor_uleb(&cursor));
	if (cursor.bad)
		return EH_FRAME_BAD;
	ret->program.start = start;
	ret->program.instructions = cursor;
	return pc - start < size ? EH_FRAME_FOUND : EH_FRAME_NONE;
}

/* The FDE of the last function that starts at or before pc. */
static enum eh_frame_answer search_table(const struct eh_image *image, uint64_t header, uint64_t pc,
					 struct eh_cursor *ret)
{
	struct eh_cursor cursor = cursor_at(image, header);
	uint8_t version = eh_cursor_u8(&cursor);
	uint8_t frame_encoding = eh_cursor_u8(&cursor);
	uint8_t count_encoding = eh_cursor_u8(&cursor);
	uint8_t table_encoding = eh_cursor_u8(&cursor);
	uint64_t count, low = 0, high;
	const uint8_t *table;

	eh_cursor_pointer(&cursor, frame_encoding, header);
	count = eh_cursor_pointer(&cursor, count_encoding, header);
	if (cursor.bad || version != 1 || table_encoding != HDR_TABLE_ENCODING ||
	    count > eh_cursor_left(&cursor) / 8)
		return EH_FRAME_BAD;
	table = image->bytes + cursor.position;
	high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (header + (uint64_t)(int32_t)bytes_u32(table + middle * 8) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return EH_FRAME_NONE;
	*ret = cursor_at(image, header + (uint64_t)(int32_t)bytes_u32(table + low * 8 - 4));
	return ret->bad ? EH_FRAME_BAD : EH_FRAME_FOUND;
}

enum eh_frame_answer eh_frame_find(const struct eh_image *image, uint64_t header, uint64_t pc,
				   uint8_t reg, struct eh_frame_row *ret)
{
	enum eh_frame_answer answer;
	struct eh_cursor entry;
	struct cie cie;

	answer = search_table(image, header, pc, &entry);
	if (answer == EH_FRAME_FOUND)
		answer = read_fde(entry, pc, &cie);
	if (answer != EH_FRAME_FOUND)
		return answer;
	ret->start = cie.program.start;
	ret->signal = cie.signal;
	cie.program.saved_register = reg;
	return cfa_program_run(&cie.program, pc, &ret->row) ? EH_FRAME_FOUND : EH_FRAME_BAD;
}
