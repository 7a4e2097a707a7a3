/*
 * Capturing the call stack: one interface, the steps of each architecture in a file of its own
 * (arch.h).
 *
 * Runs inside the program's malloc: async-signal-safe and reentrant, no lock that is waited for,
 * no malloc, no write to the program's stack. Reads only stack words that the unwind tables (or,
 * for code without tables, a checked frame pointer) say exist, in pages that the kernel has said
 * can be read (stack_bounds.h). At most 512 bytes of stack on the fast path, 1 KiB in the _slow
 * functions; what takes more goes by unwind_host.run.
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
 * The pages around a stack pointer that are known to be readable: the address of the first one,
 * plus their number. 0: none. One word, so that a signal handler never finds half of it. Owned by
 * the calling thread, which clears it when unwind_host.forgot() was called since.
 */
struct unwind_stack {
	uint64_t known;
};

enum unwind_end {
	UNWIND_COMPLETE,  /* reached the outermost frame */
	UNWIND_TRUNCATED, /* more frames than there was room for */
	UNWIND_BROKEN,    /* a frame whose caller could not be found */
	UNWIND_REFUSED,   /* stack_cache_capture() alone: it has done nothing */
};

/*
 * Fills pcs[0 … *count) innermost first, from the state's own pc on. A frame interrupted by a
 * signal is stored as its pc + 1 (docs/trace-format.md, section 5). room >= 1.
 */
enum unwind_end unwind_capture(const struct unwind_state *state, struct unwind_stack *stack,
			       uint64_t *pcs, size_t room, size_t *count);

enum unwind_nesting {
	UNWIND_NOT_FOUND, /* no frame of the walk ends at that stack pointer: it is gone */
	UNWIND_FOUND,     /* found without crossing a signal frame */
	UNWIND_FOUND_ACROSS_SIGNAL,
};

/*
 * Whether the hook whose caller's stack pointer (its CFA) is sp is still live on this stack: walks
 * outwards from state until sp is reached or passed. The guard of the hooks uses it to tell a
 * nested call from a leftover of longjmp, an exception or a fiber switch.
 *
 * state->sp itself does not count: it is the CFA of the hook that asks. Nor does a frame of code
 * other than the hooks' (struct unwind_host), which came to lie where a hook's had been.
 */
enum unwind_nesting unwind_find_frame(const struct unwind_state *state, struct unwind_stack *stack,
				      uint64_t sp);

/*
 * A module as found in memory. It begins with its ELF header. Between start and end of the program
 * itself other modules may lie, if it was linked with holes between its segments.
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
	const void *eh_frame_hdr; /* NULL: no unwind tables */
	const void *link_map;     /* identity for the loader, may be NULL */
	char path_text[512];
};

/*
 * Which loaded module holds the address, one of its code. Lock-free: _dl_find_object() where the C
 * library has it, else /proc/self/maps. Never dl_iterate_phdr (lock order inside hooks).
 */
bool unwind_module_at(uint64_t address, struct unwind_module *ret);

/* Where the function begins, or the part of one, that a call returns to pc in. 0: no table tells.
 */
uint64_t unwind_code_start(uint64_t pc);

/* What the unwinder needs from the rest of the agent, so that it can be tested alone. */
struct unwind_host {
	void *(*allocate)(size_t size); /* zeroed pages that are never returned; NULL: none left */
	/* The address of _dl_find_object, or NULL: glibc before 2.35, musl. */
	int (*dl_find_object)(void *address, void *result);
	/* Calls function(argument) where there is stack for it. NULL: just so. */
	void (*run)(void (*function)(void *argument), void *argument);
	/* The code of the hooks, for unwind_find_frame(). hooks_end 0: any frame will do. */
	uint64_t hooks_start, hooks_end;
	/*
	 * Called when memory of stacks may no longer be readable: before the next capture each
	 * thread's caches and struct unwind_stack are to be cleared. Any thread, any signal
	 * handler. NULL: nobody calls unwind_memory_changes().
	 */
	void (*forgot)(void);
	/* An address near the end of the first thread's stack. 0: not known. */
	uint64_t main_stack;
};

/* Once, before the first capture. */
void unwind_init(const struct unwind_host *host);

/*
 * The table of rules also remembers under which id a pc was defined in the recording. 0: not yet
 * (or the table has no room for it): the caller defines the frame and calls
 * unwind_set_frame_id(), which returns the id to use: that of another thread if it came first.
 */
uint32_t unwind_frame_id(uint64_t pc);
uint32_t unwind_set_frame_id(uint64_t pc, uint32_t id);

/* Calls each(argument, pc, id) for all of them; for those of this moment at least. */
void unwind_each_frame_id(void (*each)(void *argument, uint64_t pc, uint32_t id), void *argument);

/*
 * The code in [start, end) is gone (dlclose). Its rules and ids are forgotten. Not from a signal
 * handler. The caller keeps stale pcs out of its own caches.
 */
void unwind_forget(uint64_t start, uint64_t end);

/* After fork: ids belong to the parent's recording; all are forgotten, the rules are kept. */
void unwind_forget_ids(void);

/*
 * Around each system call that may take away memory, or the right to read it: with the addresses,
 * before and after, whatever came of it.
 */
void unwind_memory_changes(uint64_t start, uint64_t size);
void unwind_memory_changed(uint64_t start, uint64_t size);

/* The calling thread ends: others may get its stack's memory. Its caches are to be emptied. */
void unwind_thread_ends(struct unwind_stack *stack);

/*
 * No more system calls from now on: a seccomp filter may kill the program for one. Of stacks then
 * only pages are read that are known, or lie further out on the stack that the C library made for
 * the thread; and modules are found by dl_find_object alone.
 */
void unwind_forbid_system_calls(bool forbidden);

#endif
