/* The functions of include/mallow/mallow.h that a recorded program calls. */
#include <mallow/mallow.h> // the installed header, as programs include it

#include "agent/clock.h"
#include "agent/cull.h"
#include "agent/event.h"
#include "agent/libc.h"
#include "agent/pending.h"
#include "agent/process.h"
#include "agent/process_end.h"
#include "agent/record.h"
#include "agent/slow.h"
#include "agent/thread.h"
#include "agent/toggle.h"

#define MARK_MAX 1000
#define EXPORT   __attribute__((visibility("default")))

EXPORT void mallow_api_mark(const char *name)
{
	struct thread *thread = thread_self;
	struct record record = {
		.kind = TRACE_RECORD_MARK,
		.has_time = true,
		.text = name,
	};
	struct slow slow;
	uint64_t outer;

	if (toggle_is_off())
		return;
	if (!thread || !thread->cursor)
		thread = thread_begin_slow();
	if (!thread || thread->busy || !name)
		return;
	record.text_size = strlen(name);
	if (record.text_size > MARK_MAX)
		record.text_size = MARK_MAX;
	slow_begin(&slow);
	outer = thread_begin_work(thread);
	record.ticks = clock_ticks();
	record_write(thread, &record);
	thread_end_work(thread, outer);
	slow_end(&slow);
}

EXPORT void mallow_api_start(void)
{
	toggle_start();
}

EXPORT void mallow_api_stop(void)
{
	toggle_stop();
}

EXPORT int mallow_api_is_running(void)
{
	return process_state() == PROCESS_RECORDING && !toggle_is_off() && !process_is_borrowed();
}

/* What is held back is written, too, by this thread. In a slow bracket. */
static bool write_held(void)
{
	struct thread *thread = thread_self;
	uint64_t outer;
	bool done;

	if (!thread || !thread->cursor)
		thread = thread_begin_slow();
	if (!thread || thread->busy)
		return false;
	outer = thread_begin_work(thread);
	done = cull_write_all(thread);
	thread_end_work(thread, outer);
	return done;
}

EXPORT int mallow_api_sync(void)
{
	struct slow slow;
	bool whole;

	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return -1;
	slow_begin(&slow);
	whole = !cull_is_on() || write_held();
	whole = process_flush() && whole;
	slow_end(&slow);
	return whole ? 0 : -1;
}

EXPORT void mallow_api_set_tag(uint32_t tag)
{
	struct thread *thread = thread_self;
	const struct event event = {.operation = TRACE_RECORD_TAG};
	struct slow slow;
	uint64_t outer;

	if (thread_tag == tag)
		return;
	thread_tag = tag;
	// Off: it is written when the thread is next to record an allocation. Not begun: when it
	// begins.
	if (!thread || toggle_is_off())
		return;
	if (thread->busy) {
		pending_add(thread, &event, NULL);
		return;
	}
	if (!thread->cursor)
		return;
	slow_begin(&slow);
	outer = thread_begin_work(thread);
	toggle_write_tag(thread);
	thread_end_work(thread, outer);
	slow_end(&slow);
}
