/* The functions of include/mallow/mallow.h that a recorded program calls. */
#include <mallow/mallow.h> // the installed header, as programs include it

#include "agent/event/event.h"
#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/hooks/hooks.h"
#include "agent/life/process_end.h"
#include "agent/life/thread.h"
#include "agent/life/toggle.h"
#include "agent/record/fact_record.h"
#include "agent/record/thread_record.h"

#define MARK_MAX 1000
#define EXPORT   __attribute__((visibility("default")))

EXPORT void mallow_api_mark(const char *name)
{
	struct thread *thread = thread_self;
	struct fact_record record = {
		.kind = TRACE_RECORD_MARK,
		.has_time = true,
		.text = name,
	};
	struct signal_bracket bracket;
	uint64_t outer;

	if (toggle_is_off())
		return;
	if (!thread || !thread->cursor)
		thread = thread_begin_slow(true);
	if (!thread || thread->busy || !name)
		return;
	record.text_size = strlen(name);
	if (record.text_size > MARK_MAX)
		record.text_size = MARK_MAX;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	record.ticks = clock_ticks();
	fact_record_write(thread, &record);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

EXPORT void mallow_api_start(void)
{
	hooks_resolve();
	toggle_start();
}

EXPORT void mallow_api_stop(void)
{
	hooks_resolve();
	toggle_stop();
}

EXPORT int mallow_api_is_running(void)
{
	return process_state() == PROCESS_RECORDING && !toggle_is_off() && !process_is_borrowed();
}

/* Writes what is held back, by this thread. In a signal bracket. */
static bool write_held(void)
{
	struct thread *thread = thread_self;
	uint64_t outer;
	bool done;

	if (!thread || !thread->cursor)
		thread = thread_begin_slow(false);
	if (!thread || thread->busy)
		return false;
	outer = thread_begin_work(thread);
	done = sink->write_held(thread);
	thread_end_work(thread, outer);
	return done;
}

EXPORT int mallow_api_sync(void)
{
	struct signal_bracket bracket;
	bool whole;

	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return -1;
	signal_bracket_begin(&bracket);
	whole = !sink_holds_back() || write_held();
	whole = process_flush() && whole;
	signal_bracket_end(&bracket);
	return whole ? 0 : -1;
}

EXPORT void mallow_api_set_tag(uint32_t tag)
{
	struct thread *thread = thread_self;
	const struct event event = {.operation = TRACE_RECORD_TAG};
	struct signal_bracket bracket;
	uint64_t outer;

	if (thread_tag == tag)
		return;
	thread_tag = tag;
	// While off, the tag is written when the thread next records an allocation; before the
	// thread has begun, when it begins.
	if (!thread || toggle_is_off())
		return;
	if (thread->busy) {
		handler_queue_add(thread, &event, NULL);
		return;
	}
	if (!thread->cursor)
		return;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	thread_record_tag(thread);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}
