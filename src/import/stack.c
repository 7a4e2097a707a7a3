#include "import/stack.h"

#include <ctype.h>

void import_stack_deinit(struct import_stack *stack)
{
	vec_deinit(&stack->frames);
}

struct err *import_stack_push(struct import_stack *stack, uint32_t id, uint64_t pc)
{
	return vec_push(&stack->frames, (struct record_frame){id, pc}) ? NULL : err_no_memory();
}

void import_stack_turn(struct import_stack *stack)
{
	for (size_t i = 0; i < stack->frames.count / 2; i++) {
		struct record_frame *low = &stack->frames.items[i];
		struct record_frame *high = &stack->frames.items[stack->frames.count - 1 - i];
		struct record_frame frame = *low;

		*low = *high;
		*high = frame;
	}
}

struct err *import_stack_put(struct import_stack *stack, struct import_sink *sink,
			     const struct frame_parts *parts)
{
	struct symbol symbol = {.line = parts->line};
	const char *module;
	uint32_t frame = 0;
	struct err *err = sink_text(sink, parts->module, &module);

	if (!err)
		err = sink_text(sink, parts->function, &symbol.raw_function);
	if (!err)
		err = sink_text(sink, parts->file, &symbol.file);
	if (err)
		return err;
	err = symbol.raw_function ? sink_named(sink, module, &symbol, 1, &frame)
				  : sink_nameless(sink, module, parts->address, &frame);
	return err ? err : import_stack_push(stack, frame, 0);
}

/* Takes ":5" off the end. */
static bool take_number(struct span *text, uint32_t *ret)
{
	size_t at = text->size;
	uint64_t value = 0;

	while (at && isdigit((unsigned char)text->data[at - 1]))
		at--;
	if (at == text->size || !at || text->data[at - 1] != ':')
		return false;
	for (size_t i = at; i < text->size && value <= UINT32_MAX; i++)
		value = 10 * value + (uint64_t)(text->data[i] - '0');
	*ret = value > UINT32_MAX ? 0 : (uint32_t)value;
	text->size = at - 1;
	return true;
}

void import_split_line(struct span text, struct span *file, uint32_t *line)
{
	uint32_t last;

	*line = 0;
	*file = text;
	if (!take_number(file, &last))
		return;
	if (!take_number(file, line)) // the last number was no column
		*line = last;
}

/* Takes "0x1091B0: ", or the same with a blank alone. */
static void take_address(struct span *text, uint64_t *ret)
{
	struct span rest = *text;
	uint64_t value = 0;

	*ret = 0;
	if (!span_begins(rest, "0x"))
		return;
	rest = (struct span){rest.data + 2, rest.size - 2};
	while (rest.size && isxdigit((unsigned char)*rest.data)) {
		unsigned char c = (unsigned char)*rest.data;

		value = value << 4 | (isdigit(c) ? c - (unsigned)'0' : (c | 0x20) - 'a' + 10u);
		rest = (struct span){rest.data + 1, rest.size - 1};
	}
	*ret = value;
	if (rest.size && *rest.data == ':')
		rest = (struct span){rest.data + 1, rest.size - 1};
	*text = span_trim(rest);
}

struct err *import_stack_put_text(struct import_stack *stack, struct import_sink *sink,
				  struct span text)
{
	struct frame_parts parts = {0};
	const char *open;

	text = span_trim(text);
	take_address(&text, &parts.address);
	parts.function = text;
	open = text.size && text.data[text.size - 1] == ')' ? span_find_last(text, " (") : NULL;
	if (open) {
		struct span place = span_from(text, open + 2);

		place.size--;
		parts.function = span_before(text, open);
		if (span_begins(place, "in "))
			parts.module = (struct span){place.data + 3, place.size - 3};
		else
			import_split_line(place, &parts.file, &parts.line);
	}
	if (span_is(parts.function, "???"))
		parts.function.size = 0;
	return import_stack_put(stack, sink, &parts);
}
