/*
 * Protects the recording's descriptor, and the registry's, which children are to inherit
 * (helper/registry.h). The program does not know of them, so for the program these numbers are not
 * open. If the program closes the recording's by a raw system call, that is noticed before the next
 * append (file.c). The registry's may be lost: there is another way to it.
 */
#include <errno.h>
#include <linux/close_range.h>

#include "agent/arch/syscall.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/helper/registry.h"
#include "agent/hooks/hooks.h"
#include "agent/record/recording.h"
#include "base/compiler.h"

/* Our descriptor. -1: none, or this is a vfork child, which has descriptors of its own. */
static int own_descriptor(void)
{
	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return -1;
	return recording->file.fd;
}

static bool is_ours(int fd)
{
	return process && fd == recording->file.fd && fd > 0 && fd == own_descriptor();
}

/* The program wants the number `to`: moves ours away. Not under seccomp, where ours is unused. */
static void give_up(int from, int to)
{
	if (is_ours(to) && from != to && !process_system_calls_forbidden())
		file_move_descriptor(&recording->file);
}

/*
 * Whether the descriptor is ours still. The program may have closed it by a raw system call, and
 * got the number for a file of its own. With CULL nothing may be appended for hours, so that was
 * perhaps not noticed.
 */
static never_inline bool is_ours_still(int fd)
{
	struct signal_bracket bracket;
	bool kept;

	if (process_system_calls_forbidden())
		return true;
	signal_bracket_begin(&bracket);
	kept = file_keep_descriptor(&recording->file);
	signal_bracket_end(&bracket);
	return kept && is_ours(fd);
}

int hook_close(int fd)
{
	hooks_resolve();
	if (__builtin_expect(is_ours(fd), 0) && is_ours_still(fd))
		return (int)next_functions_return(-EBADF);
	if (unlikely(fd == registry_descriptor) && registry_is(fd))
		return (int)next_functions_return(-EBADF);
	return real.close(fd);
}

int hook_dup2(int from, int to)
{
	hooks_resolve();
	give_up(from, to);
	return real.dup2(from, to);
}

int hook_dup3(int from, int to, int flags)
{
	hooks_resolve();
	give_up(from, to);
	return real.dup3(from, to, flags);
}

static int close_between(unsigned int first, unsigned int last, int flags)
{
	if (first > last)
		return 0;
	if (real.close_range)
		return real.close_range(first, last, flags);
	return (int)next_functions_return(syscall6(SYS_close_range, first, last, flags, 0, 0, 0));
}

/*
 * Fills in the descriptors that are to stay open, ascending, and returns how many there are. flags:
 * close_range()'s.
 */
static int list_kept(unsigned int kept[2], int flags)
{
	int fd = own_descriptor();
	int count = 0;

	// The recording's is close-on-exec anyway.
	if (fd > 0 && !(flags & CLOSE_RANGE_CLOEXEC))
		kept[count++] = (unsigned int)fd;
	if (!registry_is(registry_descriptor))
		return count;
	kept[count++] = (unsigned int)registry_descriptor;
	if (count == 2 && kept[0] > kept[1]) {
		kept[1] = kept[0];
		kept[0] = (unsigned int)registry_descriptor;
	}
	return count;
}

int hook_close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int kept[2];
	int count;

	hooks_resolve();
	count = list_kept(kept, flags);
	for (int i = 0; i < count; i++) {
		// An empty or wrong range is left to the kernel.
		if (first > kept[i] || last < kept[i])
			continue;
		if (close_between(first, kept[i] - 1, flags))
			return -1;
		first = kept[i] + 1;
		if (kept[i] == last)
			return 0;
	}
	return real.close_range ? real.close_range(first, last, flags)
				: (int)next_functions_return(
					  syscall6(SYS_close_range, first, last, flags, 0, 0, 0));
}

void hook_closefrom(int first)
{
	unsigned int kept[2];
	int count;

	hooks_resolve();
	count = list_kept(kept, 0);
	if (first < 0)
		first = 0;
	for (int i = 0; i < count; i++) {
		if ((unsigned int)first > kept[i])
			continue;
		close_between((unsigned int)first, kept[i] - 1, 0);
		first = (int)kept[i] + 1;
	}
	if (real.closefrom)
		real.closefrom(first);
	else
		close_between((unsigned int)first, ~0u, 0);
}
