/*
 * Calls a function of the C library's from code that may run within a patched function: its caller
 * may have values in the registers of vectors (patched_entry.h), which the C library uses and the
 * agent does not. One file per architecture; a plain call where nothing is patched.
 */
#ifndef MALLOW_AGENT_ARCH_KEPT_CALL_H
#define MALLOW_AGENT_ARCH_KEPT_CALL_H

/* function(a, b). x86-64: xmm0 to xmm15 are afterwards as they were; not what lies above them. */
long kept_call(void *function, void *a, void *b) __attribute__((visibility("hidden")));

#endif
