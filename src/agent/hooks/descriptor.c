/*
 * Protects the recording's descriptor. The program does not know of it, so for the program that
 * number is not open. If the program closes it by a raw system call, that is noticed before the
 * next append (file.c).
 */
#include <errno.h>
#include <linux/close_range.h>

#include "agent/arch/syscall.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/hooks/hooks.h"
#include "agent/record/recording.h"
#include "base/compiler.h"

/* Our descriptor. -1: none, or this is a vfork child, which has descriptors of its own. */
static int ours(void)
{
	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return -1;
	return recording->file.fd;
}

static bool is_ours(int fd)
{
	return process && fd == recording->file.fd && fd > 0 && fd == ours();
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

int hook_close_range(unsigned int first, unsigned int last, int flags)
{
	int fd;
	int result;

	hooks_resolve();
	fd = ours();
	// Ours is close-on-exec anyway. An empty or wrong range is left to the kernel.
	if (fd <= 0 || first > (unsigned int)fd || last < (unsigned int)fd ||
	    flags & CLOSE_RANGE_CLOEXEC)
		return real.close_range ? real.close_range(first, last, flags)
					: (int)next_functions_return(syscall6(
						  SYS_close_range, first, last, flags, 0, 0, 0));
	result = close_between(first, (unsigned int)fd - 1, flags);
	if (result == 0)
		result = close_between((unsigned int)fd + 1, last, flags);
	return result;
}

void hook_closefrom(int first)
{
	int fd;

	hooks_resolve();
	fd = ours();
	if (first < 0)
		first = 0;
	if (fd > 0 && first <= fd) {
		close_between((unsigned int)first, (unsigned int)fd - 1, 0);
		first = fd + 1;
	}
	if (real.closefrom)
		real.closefrom(first);
	else
		close_between((unsigned int)first, ~0u, 0);
}
