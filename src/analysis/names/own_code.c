#include "analysis/names/own_code.h"

/* Takes the next frame outwards. true: it is own code. */
static bool take_frame(struct own_code *code, const struct named_frame *frame, uint32_t node)
{
	if (named_frame_is_own(frame)) {
		code->frame = frame;
		code->node = node;
		code->own = true;
		// All of an import is one place, whichever part of the machinery it called.
		if (frame->import)
			code->call = NULL;
		return true;
	}
	if (!code->frame || (frame->has_symbol && !code->frame->has_symbol)) {
		code->frame = frame;
		code->node = node;
	}
	if (frame->has_symbol && !named_frame_is_interpreter(frame))
		code->call = frame;
	code->inside++;
	return false;
}

struct err *own_code_of_stack(struct symbolized *symbolized, uint32_t stack, struct own_code *ret)
{
	const struct stack_node *nodes = recording_stacks(symbolized_recording(symbolized), NULL);
	struct own_code code = {.node = RECORDING_NONE};

	for (uint32_t node = stack; node != RECORDING_NONE && !code.own;
	     node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		for (size_t i = 0; i < count && !take_frame(&code, &lines[i], node); i++)
			;
	}
	if (!code.own) {
		code.call = NULL;
		code.inside = 0;
	}
	*ret = code;
	return NULL;
}
