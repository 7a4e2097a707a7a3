/*
 * Shielding the recording's descriptor: the program does not know of it, so for the program it is
 * not open. Whoever closes it by a raw system call is noticed before the next append (file.c).
 */
#include <errno.h>
#include <linux/close_range.h>

#include "agent/arch/syscall.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/hooks/hooks.h"
#include "agent/record/recording.h"
#include "base/compiler.h"

/* Our descriptor, or -1: none, or a vfork child, whose table of descriptors is its own. */
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

/* The program wants the number: ours goes elsewhere. Under a seccomp filter it is not needed. */
static void give_up(int from, int to)
{
	if (is_ours(to) && from != to && !process_system_calls_forbidden())
		file_move_descriptor(&recording->file);
}

/*
 * The number is ours as far as we know. But the program may have closed it by a raw system call,
 * and have a file of its own there by now: a recording that culls may not be appended to for hours.
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
	// Ours is close-on-exec anyway; an empty or wrong range is for the kernel to judge.
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
