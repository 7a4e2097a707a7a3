#include "agent/hooks/hooks.h"

#include <assert.h>

#include "agent/ground/link_map.h"
#include "agent/ground/state.h"
#include "agent/life/thread.h"
#include "agent/patch/patch.h"
#include "agent/record/modules.h"
#include "agent/script/script_find.h"

static const struct link_map_redirection redirections[] = {
#define HOOK(name, symbol, type, parameters)                                                       \
	{symbol, (void *const *)&real.name, (void *)hook_##name},
#include "agent/ground/hooks.def"
#undef HOOK
};

static_assert(ARRAY_COUNT(redirections) <= LINK_MAP_REDIRECTIONS_MAX, "");

/*
 * Makes all libraries find our functions, if this copy of the agent stands before the C library and
 * is the first one.
 */
static void redirect_libraries(void)
{
	if (link_map_is_before_libc() && link_map_is_first("mallow_api_sync"))
		real.not_redirected |= !link_map_redirect(redirections, ARRAY_COUNT(redirections));
}

void hooks_resolve_slow(void)
{
	next_functions_find();
	redirect_libraries();
	patch_hooks = &hooks_of_patched;
}

static void tell_libraries(struct thread *thread)
{
	modules_define_loaded(thread);
	patch_tell(thread, false);
}

void hooks_libraries_come_slow(void)
{
	if (process_system_calls_forbidden())
		return;
	if (!real.new &&link_map_passes_by("_Znw" CXX_SIZE))
		redirect_libraries();
	patch_look();
	script_find(true);
	thread_do(tell_libraries);
}
