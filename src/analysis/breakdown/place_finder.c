#include "analysis/breakdown/place_finder.h"

void place_finder_deinit(struct place_finder *finder)
{
	intern_deinit(&finder->texts);
	map_deinit(&finder->by_text);
	map_deinit(&finder->numbers);
	map_deinit(&finder->pairs);
	buf_deinit(&finder->scratch);
}

/* Writes all that a row shows of a frame; NULL: of none. */
static void put_frame(struct buf *buf, const struct named_frame *frame)
{
	if (frame) {
		buf_text(buf, frame->function);
		buf_char(buf, 0);
		buf_text(buf, frame->module ? frame->module : "");
	}
	buf_char(buf, 0);
}

/* *ret: the place of what that code reads. */
static struct err *place_of_text(struct place_finder *finder, const struct own_code *code,
				 uint64_t *ret)
{
	struct buf *buf = &finder->scratch;
	const char *text;
	uint64_t *place;

	buf->size = 0;
	put_frame(buf, code->frame);
	put_frame(buf, code->call);
	if (code->frame)
		buf_printf(buf, "%s:%u", code->frame->file ? code->frame->file : "",
			   code->frame->line);
	if (buf->failure)
		return buf_finish(buf);
	text = intern_bytes(&finder->texts, buf->data, buf->size);
	place = text ? map_put(&finder->by_text, (uintptr_t)text) : NULL;
	if (!place)
		return err_no_memory();
	if (*place == MAP_NONE)
		*place = finder->count++;
	*ret = *place;
	return NULL;
}

static struct err *number(struct place_finder *finder, const struct named_frame *frame,
			  uint64_t *ret)
{
	uint64_t *found = map_put(&finder->numbers, (uintptr_t)frame);

	if (!found)
		return err_no_memory();
	if (*found == MAP_NONE)
		*found = finder->numbers.count - 1;
	*ret = *found;
	return NULL;
}

/* Thousands of stacks may share both frames: their text is made once. */
struct err *place_finder_find(struct place_finder *finder, const struct own_code *code,
			      uint32_t *ret)
{
	uint64_t own = 0, call = 0, *place;
	struct err *err = number(finder, code->frame, &own);

	if (!err)
		err = number(finder, code->call, &call);
	if (err)
		return err;
	place = map_put(&finder->pairs, own << 32 | call);
	if (!place)
		return err_no_memory();
	if (*place == MAP_NONE)
		err = place_of_text(finder, code, place);
	*ret = (uint32_t)*place;
	return err;
}
