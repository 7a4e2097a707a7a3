/* The search in .eh_frame_hdr. See eh_frame.h. */
#include "cfi/eh_frame.h"

#include "base/first_where.h"
#include "cfi/eh_entry.h"

#define TABLE_ENCODING (EH_PE_DATAREL | EH_PE_SDATA4) /* the only one linkers write */

bool eh_frame_table(const struct eh_image *image, uint64_t header, struct eh_frame_table *ret)
{
	struct eh_cursor cursor = eh_entry_at(image, header);
	uint8_t version = eh_cursor_u8(&cursor);
	uint8_t frame_encoding = eh_cursor_u8(&cursor);
	uint8_t count_encoding = eh_cursor_u8(&cursor);
	uint8_t table_encoding = eh_cursor_u8(&cursor);
	struct eh_frame_table table = {.header = header};

	table.frames = eh_cursor_pointer(&cursor, frame_encoding, header);
	table.count = eh_cursor_pointer(&cursor, count_encoding, header);
	if (cursor.bad || version != 1 || table_encoding != TABLE_ENCODING ||
	    table.count > eh_cursor_left(&cursor) / 8)
		return false;
	table.entries = image->bytes + cursor.position;
	*ret = table;
	return true;
}

/* Finds the FDE of the last function that starts at or before pc. */
static enum eh_frame_answer search_table(const struct eh_image *image,
					 const struct eh_frame_table *table, uint64_t pc,
					 struct eh_cursor *ret)
{
	uint64_t behind = first_where(i, 0, table->count, eh_frame_table_start(table, i) > pc);

	if (!behind)
		return EH_FRAME_NONE;
	*ret = eh_entry_at(image, eh_frame_table_entry(table, behind - 1));
	return ret->bad ? EH_FRAME_BAD : EH_FRAME_FOUND;
}

enum eh_frame_answer eh_frame_find(const struct eh_image *image, uint64_t header, uint64_t pc,
				   uint8_t reg, struct eh_frame_row *ret)
{
	struct eh_frame_table table;

	if (!eh_frame_table(image, header, &table))
		return EH_FRAME_BAD;
	return eh_frame_find_in(image, &table, pc, reg, ret);
}

enum eh_frame_answer eh_frame_find_in(const struct eh_image *image,
				      const struct eh_frame_table *table, uint64_t pc, uint8_t reg,
				      struct eh_frame_row *ret)
{
	enum eh_frame_answer answer;
	struct eh_cursor cursor;
	struct eh_entry entry;
	uint64_t cie;

	answer = search_table(image, table, pc, &cursor);
	if (answer != EH_FRAME_FOUND)
		return answer;
	cie = eh_entry_enter(&cursor, EH_FORMAT_EH_FRAME);
	if (cursor.bad || cie == EH_ENTRY_IS_CIE ||
	    !eh_entry_read_cie(eh_entry_at(image, cie), EH_FORMAT_EH_FRAME, &entry) ||
	    !eh_entry_read_fde(cursor, &entry))
		return EH_FRAME_BAD;
	if (pc - entry.program.start >= entry.size)
		return EH_FRAME_NONE;
	ret->start = entry.program.start;
	ret->signal = entry.signal;
	entry.program.saved_register = reg;
	return cfa_program_run(&entry.program, pc, &ret->row) ? EH_FRAME_FOUND : EH_FRAME_BAD;
}
