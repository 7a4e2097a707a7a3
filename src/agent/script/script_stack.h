/*
 * Stacks with the frames of scripts among the native ones:
 *
 *   native        main  Py_RunMain                   _PyEval_EvalFrameDefault  PyList_New
 *   of the script                     <module>  load
 *   thread->stack main  Py_RunMain    <module>  load _PyEval_EvalFrameDefault  PyList_New
 *
 * The native frame that runs some of them stands inside of these: what it calls is what they do. It
 * also is at another place for each kind of instruction, and would give the frames inside of it
 * another stack each time.
 *
 * A thread that runs scripts has a stack cache for its native frames alone, which is exact as ever
 * (stack_cache.h), and the chain of script frames that was read last. A capture compares each frame
 * of the chain with memory, code, place and caller, from the innermost one outwards: a frame is
 * read only after the one inside of it has named it. Then the stack is put together anew from the
 * outermost frame on that has changed.
 *
 * A script frame has no address in code. Its pc is TRACE_PC_SCRIPT with a hash of what it says:
 * function, file, and where in the function. What a code object says is read again when its name,
 * its table of lines or its address has changed.
 *
 * A chain whose memory is not as it must be ends there, and is counted as a broken stack.
 */
#ifndef MALLOW_AGENT_SCRIPT_SCRIPT_STACK_H
#define MALLOW_AGENT_SCRIPT_SCRIPT_STACK_H

#include <stdbool.h>

#include "agent/script/script_runtime.h"
#include "agent/unwind/stack_cache.h"

struct script_stack;

/* Where a capture is made, and what for. */
struct script_thread {
	struct stack_cache *stack;   /* the thread's, which gets the merged stack */
	struct unwind_stack *bounds; /* the thread's */
	bool first;                  /* see script_runtime.state */
};

/*
 * As stack_cache_capture() into thread->stack, with script frames. *own: of this thread; made here
 * if it is NULL. Frames of native code are all there, whatever happens to the others. *broken: the
 * chain of script frames could not be followed to its end. UNWIND_REFUSED, too, while the thread
 * runs no script: stack_cache_capture() may do it then.
 */
enum unwind_end script_stack_capture(struct script_stack **own, const struct script_thread *thread,
				     const struct unwind_state *state, bool *broken);

/* The thread's memory of stacks may be wrong: code was unloaded. Accepts NULL. */
void script_stack_clear(struct script_stack *own);

/* What a script frame says. */
struct script_place {
	uint32_t line; /* 0: not known */
	uint64_t code; /* its texts: script_runtime.text */
};

/* *ret: what the frame with that pc says, which is on the stack captured last. false: it is not. */
bool script_stack_place(struct script_stack *own, const struct unwind_stack *bounds, uint64_t pc,
			struct script_place *ret);

#endif
