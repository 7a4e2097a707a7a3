/*
 * What the stubs of patched functions jump to (allocators/x86_64/entry.h). It calls the hook, and
 * returns to the function's caller with all registers but that of the result as they were: a
 * compiler that has seen the function knows which registers it leaves alone, and keeps its own
 * values there over the call. The stack need not be aligned, either. A file for each architecture
 * that has allocators/<cpu>.
 *
 * The hook finds its caller by ARCH_PATCHED_CALLER() (unwind/<cpu>/caller.h).
 */
#ifndef MALLOW_AGENT_ARCH_PATCHED_ENTRY_H
#define MALLOW_AGENT_ARCH_PATCHED_ENTRY_H

#include <stdbool.h>

struct patched_call;

/*
 * patched_entry_vectors: also keeps the registers of vectors and floating point numbers, where the
 * agent may use those: it does for samples and for CULL. The other code of the agent is compiled
 * without them.
 */
void patched_entry(void) __attribute__((visibility("hidden")));
void patched_entry_vectors(void) __attribute__((visibility("hidden")));

/*
 * For a hook: calls the function as it was, with all registers as in the call, and returns what is
 * in the register of a result then: what the function returns or, if that is nothing, leaves there.
 */
unsigned long patched_behind(const struct patched_call *call) __attribute__((visibility("hidden")));

/* Whether the thread has a shadow stack, on which a moved call would leave a wrong address. */
bool patched_entry_is_shadowed(void) __attribute__((visibility("hidden")));

#endif
