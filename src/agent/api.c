/* The functions of include/mallow/mallow.h that a recorded program calls. */
#include <mallow/mallow.h> // the installed header, as programs include it

#include "agent/clock.h"
#include "agent/libc.h"
#include "agent/record.h"
#include "agent/slow.h"
#include "agent/thread.h"

#define MARK_MAX 1000

__attribute__((visibility("default"))) void mallow_api_mark(const char *name)
{
	struct thread *thread = thread_self;
	struct record record = {
		.kind = TRACE_RECORD_MARK,
		.has_time = true,
		.ticks = clock_ticks(),
		.text = name,
	};
	struct slow slow;
	uint64_t outer;

	if (!thread || !thread->cursor)
		thread = thread_begin_slow();
	if (!thread || thread->busy || !name)
		return;
	record.text_size = strlen(name);
	if (record.text_size > MARK_MAX)
		record.text_size = MARK_MAX;
	slow_begin(&slow);
	outer = thread_begin_work(thread);
	record_write(thread, &record);
	thread_end_work(thread, outer);
	slow_end(&slow);
}
