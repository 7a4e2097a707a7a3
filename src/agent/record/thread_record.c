#include "agent/record/thread_record.h"

#include <sys/prctl.h>

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/record/fact_record.h"

static void write_name(struct thread *thread, enum trace_record kind)
{
	struct fact_record record = {.kind = kind, .has_time = true, .ticks = clock_ticks()};

	if (kind == TRACE_RECORD_THREAD)
		fact_record_add(&record, (uint64_t)thread->tid);
	record.text = thread->name;
	record.text_size = strlen(thread->name);
	fact_record_write(thread, &record);
}

void thread_record_name(struct thread *thread)
{
	char name[sizeof(thread->name)] = "";

	if (process_system_calls_forbidden() || sys_prctl(PR_GET_NAME, (unsigned long)name))
		return;
	if (!strncmp(name, thread->name, sizeof(name)))
		return;
	memcpy(thread->name, name, sizeof(name));
	thread->name[sizeof(name) - 1] = '\0';
	if (!thread->announced)
		return;
	write_name(thread, TRACE_RECORD_THREAD_NAME);
	if (sink->thread_renamed)
		sink->thread_renamed(thread);
}

void thread_record_begin(struct thread *thread)
{
	thread_record_name(thread);
	write_name(thread, TRACE_RECORD_THREAD);
	thread->announced = 1;
	thread_record_tag(thread);
}

void thread_record_tag(struct thread *thread)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_TAG, .has_time = true, .ticks = clock_ticks()};

	if (thread->tag == thread_tag)
		return;
	fact_record_add(&record, thread_tag);
	if (fact_record_write(thread, &record))
		thread->tag = thread_tag;
	else if (thread->cursor)
		// The file is full (STREAM_ONLY). No event may get into the rest of the slot with
		// the old tag.
		thread->limit = thread->cursor;
}

void thread_record_end(struct thread *thread)
{
	fact_record_write(thread, &(struct fact_record){.kind = TRACE_RECORD_THREAD_END,
							.has_time = true,
							.ticks = clock_ticks()});
}
