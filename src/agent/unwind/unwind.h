/*
 * Capturing the call stack. The interface is the same for all architectures; each has a file for
 * its steps (arch.h).
 *
 * Runs inside the program's malloc: async-signal-safe and reentrant, no lock that is waited for, no
 * malloc, no write to the program's stack. Reads only stack words that exist by the unwind tables
 * (or, for code without tables, by a checked frame pointer), in pages of which the kernel has said
 * that they can be read (stack_bounds.h). Needs at most 512 bytes of stack on the fast path and 1
 * KiB in the _slow functions; what needs more runs by unwind_host.run.
 */
#ifndef MALLOW_AGENT_UNWIND_UNWIND_H
#define MALLOW_AGENT_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers that one step needs. pc is a return address, sp the value after that return. */
struct unwind_state {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
};

/*
 * The known readable pages around a stack pointer: the address of the first page plus their number.
 * 0: none. One word, so that a signal handler never finds half of it. The calling thread owns it,
 * and clears it after unwind_host.forgot() was called.
 */
struct unwind_stack {
	uint64_t known;
};

enum unwind_end {
	UNWIND_COMPLETE,  /* reached the outermost frame */
	UNWIND_TRUNCATED, /* more frames than there was room for */
	UNWIND_BROKEN,    /* the caller of a frame could not be found */
	UNWIND_REFUSED,   /* stack_cache_capture() alone: it has done nothing */
};

/*
 * Fills pcs[0 … *count) innermost first, from the state's own pc on. A frame interrupted by a
 * signal is stored as its pc + 1 (docs/trace-format.md, section 5). room >= 1.
 */
enum unwind_end unwind_capture(const struct unwind_state *state, struct unwind_stack *stack,
			       uint64_t *pcs, size_t room, size_t *count);

enum unwind_nesting {
	UNWIND_NOT_FOUND, /* the hook is gone: no frame of the walk ends at sp */
	UNWIND_FOUND,     /* found without crossing a signal frame */
	UNWIND_FOUND_ACROSS_SIGNAL,
};

/*
 * Whether a hook is still running on this stack; sp is its caller's stack pointer (its CFA). Walks
 * outwards from state until sp is reached or passed. The guard of the hooks thus tells a nested
 * call from a leftover of longjmp, an exception or a fiber switch.
 *
 * Two kinds of frames at sp do not count. One is the frame of the hook that asks: its CFA is
 * state->sp. The other is a frame of code outside of the hooks (hooks_start in struct unwind_host):
 * the hook has returned, and this frame has taken its place on the stack.
 */
enum unwind_nesting unwind_find_frame(const struct unwind_state *state, struct unwind_stack *stack,
				      uint64_t sp);

/*
 * A module as found in memory. It begins with its ELF header. If the program itself was linked with
 * holes between its segments, other modules may lie between its start and end.
 */
struct unwind_module {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t bias;
	/*
	 * Points into the loader's memory: copy at once. "" for the program itself, unless the
	 * loader knows better. Without a loader to ask: path_text, as /proc/self/maps spells it, ""
	 * if longer.
	 */
	const char *path;
	const void *eh_frame_hdr; /* NULL: no search table */
	const void *link_map;     /* identity for the loader, may be NULL */
	char path_text[512];
};

/*
 * Finds the loaded module whose code holds the address. Lock-free: asks _dl_find_object() where the
 * C library has it, else reads /proc/self/maps. Never dl_iterate_phdr(): it takes the loader's
 * lock, which may deadlock inside a hook.
 */
bool unwind_module_at(uint64_t address, struct unwind_module *ret);

/*
 * The start of the function, or of the part of one, that holds the call before pc. 0: no table says
 * it.
 */
uint64_t unwind_code_start(uint64_t pc);

/* What the unwinder needs from the rest of the agent, so that it can be tested alone. */
struct unwind_host {
	void *(*allocate)(size_t size); /* zeroed pages that are never returned; NULL: none left */
	/* The address of _dl_find_object, or NULL: glibc before 2.35, musl. */
	int (*dl_find_object)(void *address, void *result);
	/* Calls function(argument) on a stack with enough room. NULL: it is called directly. */
	void (*run)(void (*function)(void *argument), void *argument);
	/* The code of the hooks, for unwind_find_frame(). hooks_end 0: any frame will do. */
	uint64_t hooks_start, hooks_end;
	/*
	 * The address in the original code that stands for pc; pc itself, but in code that was
	 * copied elsewhere. NULL: none was.
	 */
	uint64_t (*original)(uint64_t pc);
	/*
	 * Called when memory of stacks may no longer be readable, by any thread or signal handler.
	 * Before its next capture each thread must clear its caches and struct unwind_stack. NULL:
	 * nobody calls unwind_memory_changes().
	 */
	void (*forgot)(void);
	/* An address near the end of the first thread's stack. 0: not known. */
	uint64_t main_stack;
};

/* Once, before the first capture. */
void unwind_init(const struct unwind_host *host);

/*
 * The id under which a pc was defined in the recording. 0: none yet, or the table had no room for
 * it. Then the caller defines the frame and calls unwind_set_frame_id(), which returns the id to
 * use: another thread's, if that came first.
 */
uint32_t unwind_frame_id(uint64_t pc);
uint32_t unwind_set_frame_id(uint64_t pc, uint32_t id);

/*
 * Whether the caller of a frame at pc is a guess (RULE_GUESS). pc was captured. false, too, where
 * its rule could not be kept.
 */
bool unwind_is_guess(uint64_t pc);

/* Calls each(argument, pc, id) for all ids; one that is set meanwhile may be left out. */
void unwind_each_frame_id(void (*each)(void *argument, uint64_t pc, uint32_t id), void *argument);

/*
 * The code in [start, end) is gone (dlclose): forgets its rules and ids. Not from a signal handler.
 * The caller must drop such pcs from its own caches.
 */
void unwind_forget(uint64_t start, uint64_t end);

/* After fork: forgets all ids, which are the parent's recording's. The rules are kept. */
void unwind_forget_ids(void);

/*
 * Call both around each system call that may take memory away, or the right to read it: with its
 * range, before and after, also if it failed.
 */
void unwind_memory_changes(uint64_t start, uint64_t size);
void unwind_memory_changed(uint64_t start, uint64_t size);

/*
 * The calling thread ends, and others may get its stack's memory: forgets its pages. The caller
 * must empty the thread's caches.
 */
void unwind_thread_ends(struct unwind_stack *stack);

/*
 * true: no more system calls from now on, because a seccomp filter may kill the program for one.
 * Walks then read only known pages of stacks, and pages further out on a stack that the C library
 * made for the thread. Modules are found by dl_find_object alone. false: system calls are allowed
 * again.
 */
void unwind_forbid_system_calls(bool forbidden);

#endif
