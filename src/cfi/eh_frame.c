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

/*
 * Each FDE is read once or twice, and so is its CIE, if not the same as before. An FDE is as long
 * as a CIE. So this is several times what an undamaged image takes.
 */
#define READS_MAX 16

void eh_walk_begin(struct eh_walk *walk, const struct eh_image *image, enum eh_format format,
		   uint8_t reg)
{
	*walk = (struct eh_walk){
		.image = image,
		.format = format,
		.reg = reg,
		.left = (uint64_t)image->size * READS_MAX,
		.last_cie = EH_ENTRY_IS_CIE,
	};
}

/* Counts an entry, from its address to the cursor's end. False: enough has been read. */
static bool may_read(struct eh_walk *walk, const struct eh_cursor *cursor)
{
	uint64_t size = eh_cursor_left(cursor);

	if (size > walk->left)
		return false;
	walk->left -= size;
	return true;
}

/* Puts the CIE at that address into walk->last. */
static bool read_cie(struct eh_walk *walk, uint64_t address)
{
	struct eh_cursor cursor = eh_entry_at(walk->image, address);
	struct eh_cursor body = cursor;

	if (address == walk->last_cie)
		return true;
	walk->last_cie = EH_ENTRY_IS_CIE;
	eh_entry_enter(&body, walk->format);
	if (!may_read(walk, &body) || !eh_entry_read_cie(cursor, walk->format, &walk->last))
		return false;
	walk->last.program.saved_register = walk->reg;
	walk->last_cie = address;
	return true;
}

/* Reads the FDE whose body the cursor has entered. */
static bool read_fde(struct eh_walk *walk, struct eh_cursor body, uint64_t cie)
{
	return may_read(walk, &body) && read_cie(walk, cie) && eh_entry_read_fde(body, &walk->last);
}

bool eh_walk_next(struct eh_walk *walk, struct eh_cursor *cursor, struct eh_place *ret)
{
	while (eh_cursor_left(cursor) > 0) {
		uint64_t entry = eh_cursor_address(cursor);
		struct eh_cursor body = *cursor;
		uint64_t cie = eh_entry_enter(&body, walk->format);

		if (body.bad)
			return false;
		cursor->position = body.end;
		if (cie == EH_ENTRY_IS_CIE || !read_fde(walk, body, cie))
			continue;
		*ret = (struct eh_place){
			walk->last.program.start,
			walk->last.size,
			entry,
		};
		return true;
	}
	return false;
}

struct rows {
	struct eh_frame_row row;
	eh_walk_row *each;
	void *argument;
};

static void add_row(void *argument, const struct cfa_row *row, uint64_t low, uint64_t high)
{
	struct rows *rows = argument;

	if (row)
		rows->row.row = *row;
	rows->each(rows->argument, row ? &rows->row : NULL, low, high);
}

bool eh_walk_entry(struct eh_walk *walk, uint64_t entry, eh_walk_row *each, void *argument)
{
	struct eh_cursor body = eh_entry_at(walk->image, entry);
	uint64_t cie = eh_entry_enter(&body, walk->format);
	const struct eh_entry *fde = &walk->last;
	struct rows rows = {.each = each, .argument = argument};

	if (body.bad || cie == EH_ENTRY_IS_CIE || !read_fde(walk, body, cie))
		return false;
	rows.row.start = fde->program.start;
	rows.row.signal = fde->signal;
	cfa_program_walk(&fde->program,
			 fde->size > UINT64_MAX - fde->program.start
				 ? UINT64_MAX
				 : fde->program.start + fde->size,
			 add_row, &rows);
	return true;
}
