/*
 * What a stack is called after: the reader's own code in it.
 *
 *	innermost   std::vector<char>::vector(…)     plumbing
 *	            Session::Session(…)              own: the stack's name; it called the vector
 *	            std::make_shared<Session>()      plumbing
 *	outermost   main                             own
 */
#ifndef MALLOW_ANALYSIS_NAMES_OWN_CODE_H
#define MALLOW_ANALYSIS_NAMES_OWN_CODE_H

#include "analysis/names/symbolized.h"

struct own_code {
	/*
	 * The innermost own frame (named_frame_is_own()). Without one the innermost frame with a
	 * name, without that the innermost frame. NULL: the stack is empty.
	 */
	const struct named_frame *frame;
	uint32_t node; /* the node of the stack that the frame is in; RECORDING_NONE: no frame */
	bool own;      /* it is own code */
	/*
	 * If own: the function that the own code called, which is the next frame inwards that has a
	 * name. NULL: own code called the allocator itself, or only code without names.
	 */
	const struct named_frame *call;
	unsigned inside; /* how many frames are inside of it */
};

/* stack: a node, or RECORDING_NONE. Frames live as long as symbolized. */
struct err *own_code_of_stack(struct symbolized *symbolized, uint32_t stack, struct own_code *ret);

#endif
