/*
 * Allocators that are linked into a program or library, where no library of ours stands in front of
 * them: jemalloc, mimalloc, tcmalloc, snmalloc, a malloc of the program's own. The entries of their
 * functions are patched (allocators/x86_64/entry.h), so that each call comes to a hook first.
 *
 *   patch_file   the functions that the symbol tables of a module's file have
 *   patch_code   writing code, and cells for it near a module
 *   patch_object which of them are patched, or why none is
 *   patch        walks over the loaded modules, keeps what was done, and tells it
 *
 * Which functions: those of allocators/functions.def, chosen as for probes, but for those that one
 * of our hooks stands in front of already, by its name. Modules are looked at once at the start,
 * and when the loader has mapped libraries and bound none of their calls yet, so that no thread is
 * in their code.
 *
 * Nothing is patched where that is not safe: bytes in memory that are not those of the file (a
 * breakpoint, a probe, another patch), code that is not understood, a file that is not the one that
 * was loaded. That is told by the recording (TRACE_RECORD_PATCHED).
 */
#ifndef MALLOW_AGENT_PATCH_PATCH_H
#define MALLOW_AGENT_PATCH_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/patch/patched.h"

struct thread;

/* The hooks, by what a function does (enum allocator_act). Set once, before patch_begin(). */
struct patch_hooks {
	patched_hook *allocates, *resizes, *frees;
};
extern const struct patch_hooks *patch_hooks __attribute__((visibility("hidden")));

/*
 * Patches what is loaded, unless PATCH=off. Once, when the settings are read: the earlier, the
 * fewer other threads there are.
 */
void patch_begin(void);

/*
 * Patches what was loaded since. Only while the loader holds its lock, and has bound nothing of the
 * new libraries. Not while system calls are forbidden.
 */
void patch_look(void);

/* The loader has freed the description of that object: it is gone. */
void patch_forget(const void *link_map);

/*
 * Writes the records of what was patched and not yet told; all: to a new recording. In a signal
 * bracket, with `busy` set.
 */
void patch_tell(struct thread *thread, bool all);

/* Whether the object's own functions are patched, all that were found. "": the program. */
bool patch_sees(const char *object);

/*
 * For the unwinder: where the stack is as at pc, if pc is in a cell: in the function, or where its
 * stub leads to. Else pc itself.
 */
uint64_t patch_original(uint64_t pc);

#endif
