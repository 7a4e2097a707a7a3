/* See kept_call.h. No entries are patched here: the caller is an ordinary one. */
#include "agent/arch/kept_call.h"

long kept_call(void *function, void *a, void *b)
{
	return ((long (*)(void *, void *))function)(a, b);
}
