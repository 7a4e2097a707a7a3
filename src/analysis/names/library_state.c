#include "analysis/names/library_state.h"

#include <string.h>

#include "base/compiler.h"

#define LIBRARY_STATE(function) function,
static const char *const keepers[] = {
#include "analysis/names/library_state.def"
};
#undef LIBRARY_STATE

static bool keeps(const struct named_frame *frame)
{
	for (size_t i = 0; frame->plumbing && i < ARRAY_COUNT(keepers); i++)
		if (strcmp(frame->function, keepers[i]) == 0)
			return true;
	return false;
}

struct err *library_state_has(struct symbolized *symbolized, uint32_t stack, bool *ret)
{
	const struct stack_node *nodes = recording_stacks(symbolized_recording(symbolized), NULL);

	for (uint32_t node = stack; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		for (size_t i = 0; i < count; i++) {
			bool own = !lines[i].plumbing; // or perhaps: it may have no name

			// The main that calls Rust's start is not the reader's.
			if (!own && !keeps(&lines[i]) && !named_frame_is_rust_start(&lines[i]))
				continue;
			*ret = !own;
			return NULL;
		}
	}
	*ret = stack != RECORDING_NONE;
	return NULL;
}
