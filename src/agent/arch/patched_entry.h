/*
 * What the stubs of patched functions jump to (allocators/x86_64/entry.h). It calls the hook, and
 * returns to the function's caller with all registers as they were but for the result: a compiler
 * that has seen the function knows which registers it leaves alone, and keeps its own values there
 * over the call. The stack need not be aligned, either. One file per architecture.
 *
 * The hook finds its caller by ARCH_PATCHED_CALLER() (unwind/arch.h).
 */
#ifndef MALLOW_AGENT_ARCH_PATCHED_ENTRY_H
#define MALLOW_AGENT_ARCH_PATCHED_ENTRY_H

/*
 * For a function that returns a value, and for one that returns none. _vectors: also keeps the
 * registers of vectors and floating point numbers, where the agent may use those: it does for
 * samples and for CULL. The other code of the agent is compiled without them.
 */
void patched_entry_value(void) __attribute__((visibility("hidden")));
void patched_entry_void(void) __attribute__((visibility("hidden")));
void patched_entry_value_vectors(void) __attribute__((visibility("hidden")));
void patched_entry_void_vectors(void) __attribute__((visibility("hidden")));

#endif
