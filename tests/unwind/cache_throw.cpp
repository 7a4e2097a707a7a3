/* The C++ part of cache_program.c: frames left by exceptions. */
#include "cache_program.h"

#include "scenes.h"

namespace
{

/* Captures while the exception is in flight, between frames that are gone and frames to go. */
struct watcher {
	cache_check *check;

	~watcher()
	{
		cache_check_here(check);
	}
};

} // namespace

__attribute__((noinline)) void cache_throw_across(cache_check *check, cache_program_act *act,
						  void *program, unsigned depth)
{
	try {
		watcher w{check};
		act(program, depth);
	} catch (int) {
		cache_check_here(check);
	}
	SCENE_KEEP(check);
}

__attribute__((noinline)) void cache_throw(cache_check *check)
{
	watcher w{check};

	SCENE_KEEP(check);
	throw 1;
}
