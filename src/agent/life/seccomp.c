#include "agent/life/seccomp.h"

#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/log.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/life/process_end.h"
#include "agent/record/process_stop.h"
#include "agent/record/recording.h"
#include "agent/unwind/unwind.h"

#define WINDOW_SIZE  (32u << 20)  /* space in the file for what is recorded under a filter */
#define RESERVE_SIZE (256u << 20) /* address space for memory then; touched when used */

static bool prepare_window(void)
{
	return !recording->file.header_private && clock_use_tsc &&
	       file_open_window(&recording->file, WINDOW_SIZE) &&
	       own_pages_begin_reserve(RESERVE_SIZE);
}

/* Said now: when the start comes, it may be impossible to write a line. */
static void say_too_late(void)
{
	struct signal_bracket bracket;

	signal_bracket_begin(&bracket);
	log_line(SETTING_LOG_WARN, "the program installs a seccomp filter before recording was "
				   "started: a start has no effect from now on");
	signal_bracket_end(&bracket);
}

bool seccomp_prepare(enum seccomp_kind kind)
{
	bool strict = kind != SECCOMP_FILTER;
	struct signal_bracket bracket;

	if (process_system_calls_forbidden())
		process_dispatched &= kind == SECCOMP_DISPATCH;
	if (process_system_calls_forbidden() || process_is_borrowed())
		return false;
	process_dispatched = kind == SECCOMP_DISPATCH;
	if (process_state() == PROCESS_NEW && toggle_state == TOGGLE_OFF)
		say_too_late();
	if (strict && process_state() == PROCESS_RECORDING) {
		signal_bracket_begin(&bracket);
		if (sink_holds_back())
			process_end_held_back();
		signal_bracket_end(&bracket);
		process_stop(
			TRACE_LOSS_STRICT_MODE,
			kind == SECCOMP_STRICT
				? "the program enters seccomp strict mode; later events are lost"
				: "the program handles system calls by itself (Syscall User "
				  "Dispatch); later events are lost");
	}
	if (process_state() == PROCESS_RECORDING) {
		signal_bracket_begin(&bracket);
		if (!prepare_window())
			process_stop(TRACE_LOSS_WINDOW_FULL,
				     "the program installs a seccomp filter, and no space could be "
				     "mapped");
		signal_bracket_end(&bracket);
	}
	// Strict mode forbids reading the time stamp counter, too. Under a filter that is the only
	// clock left.
	if (!clock_use_tsc || strict)
		clock_freeze();
	unwind_forbid_system_calls(true);
	__atomic_store_n(&process_forbidden, true, __ATOMIC_RELEASE);
	return true;
}

void seccomp_refused(void)
{
	process_dispatched = false;
	__atomic_store_n(&process_forbidden, false, __ATOMIC_RELEASE);
	clock_thaw();
	unwind_forbid_system_calls(false);
	own_pages_end_reserve();
	if (process_state() == PROCESS_RECORDING)
		file_close_window(&recording->file);
}
