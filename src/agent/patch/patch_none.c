/*
 * patch.h where nothing is patched: on architectures without it (allocators/entry.h), and in a
 * program that the agent is linked into (libmallow.a), where the linker has led calls of malloc to
 * our hooks, whosever that is.
 */
#include "agent/patch/patch.h"

const struct patch_hooks *patch_hooks;

void patch_begin(void)
{
}

void patch_look(void)
{
}

void patch_forget(const void *link_map)
{
}

void patch_tell(struct thread *thread, bool all)
{
}

bool patch_sees(const char *object)
{
	return false;
}

uint64_t patch_original(uint64_t pc)
{
	return pc;
}
