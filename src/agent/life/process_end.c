#include "agent/life/process_end.h"

#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/log.h"
#include "agent/ground/signal_bracket.h"
#include "agent/life/process.h"
#include "agent/life/thread.h"
#include "agent/record/fact_record.h"
#include "agent/record/memory_use.h"
#include "agent/record/process_stop.h"
#include "agent/record/recording.h"
#include "agent/record/slot.h"

bool process_flush(void)
{
	bool whole;

	if (!recording->file.header_private && !recording->file.cut)
		return true;
	if (process_system_calls_forbidden())
		return false;
	whole = slot_flush_all();
	file_write_header(&recording->file);
	return whole && process_state() == PROCESS_RECORDING;
}

/*
 * Events that were lost while the recording went on. Those lost after a stop are not counted here:
 * the stop was reported when it happened.
 */
static uint64_t count_lost(const struct trace_header *header)
{
	uint64_t lost = 0;

#define LOSS(number, NAME, name, loses_events, text)                                               \
	if (loses_events)                                                                          \
		lost += __atomic_load_n(&header->losses[number], __ATOMIC_RELAXED);
#include "trace/losses.def"
#undef LOSS
	return lost;
}

/* Losses are not reported at an exec: a run of many execs would print the same line each time. */
static void say_end(enum trace_end reason)
{
	uint64_t lost = reason == TRACE_END_EXEC ? 0 : count_lost(process->header);

	log_start(lost ? SETTING_LOG_ERROR : SETTING_LOG_INFO);
	log_string("recording '");
	log_string(recording->file.path);
	log_string("' ends");
	if (lost) {
		log_string("; events lost: ");
		log_number(lost);
	}
	log_end();
}

void process_end_held_back(void)
{
	struct thread *thread = thread_self;
	bool lent = !thread || !thread->cursor || thread->busy;
	struct arch_mark outer = {0};

	thread = lent ? thread_lend() : thread;
	if (!thread)
		return sink->stop(TRACE_LOSS_HELD_BACK);
	if (!lent)
		outer = thread_begin_work(thread);
	if (!sink->finish(thread))
		sink->stop(TRACE_LOSS_HELD_BACK);
	if (lent)
		thread_take_back(thread);
	else
		thread_end_work(thread, outer);
}

/*
 * The last record of the recording, in the stream of the calling thread. Nothing is written if that
 * thread has no stream or is in the middle of an event.
 */
static void write_end(struct thread *thread, enum trace_end reason, uint32_t status)
{
	struct fact_record record = {.kind = TRACE_RECORD_END, .has_time = true}, sample;
	struct arch_mark outer;
	uint64_t now = 0;

	if (!thread || !thread->cursor)
		return;
	if (thread->busy) {
		// An exec may fail, and then the write goes on after the handler.
		if (reason != TRACE_END_EXEC)
			handler_queue_lose(thread);
		return;
	}
	outer = thread_begin_work(thread);
	if (!process_system_calls_forbidden()) {
		if (memory_use_take(&sample))
			fact_record_write(thread, &sample);
		now = clock_monotonic_ns();
	}
	record.ticks = clock_ticks();
	fact_record_add(&record, now);
	fact_record_add(&record, reason);
	fact_record_add(&record, status);
	fact_record_write(thread, &record);
	thread_end_work(thread, outer);
}

struct ending {
	enum trace_end reason;
	uint32_t status;
};

static void end_recording(void *argument)
{
	const struct ending *ending = argument;
	struct trace_header *header = process->header;
	uint32_t *streams = (uint32_t *)((char *)header + TRACE_STREAMS_OFFSET);

	process_tell_again(true);
	if (sink_holds_back())
		process_end_held_back();
	write_end(thread_self, ending->reason, ending->status);
	header->end_reason = ending->reason;
	header->end_status = ending->status;
	// By this number readers notice a file of which whole streams are cut off. A private slot
	// comes into the file only if something is committed.
	*streams = recording->file.header_private
			   ? 0
			   : __atomic_load_n(&process->streams_begun, __ATOMIC_RELAXED);
	__atomic_store_n(&header->state, TRACE_STATE_ENDED, __ATOMIC_RELEASE);
	if (!process_flush() && recording->file.late)
		process_stop(TRACE_LOSS_WRITE_FAILED,
			     "the file system hangs; what it has not taken yet is lost");
	if (process_state() == PROCESS_RECORDING)
		say_end(ending->reason);
	if (sink->ended)
		sink->ended(ending->reason);
}

void process_end(enum trace_end reason, uint32_t status)
{
	struct ending ending = {reason, status};
	struct signal_bracket bracket;

	if (process_is_borrowed())
		return;
	if (process_state() == PROCESS_STOPPED) {
		// end_reason says why. A private header's counters are written.
		__atomic_store_n(&process->header->state, TRACE_STATE_ENDED, __ATOMIC_RELEASE);
		signal_bracket_begin(&bracket);
		process_flush();
		signal_bracket_end(&bracket);
	}
	if (process_state() != PROCESS_RECORDING)
		return;
	signal_bracket_run(end_recording, &ending);
}

void process_resume(void)
{
	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return;
	if (sink->resume)
		sink->resume();
	process->header->end_reason = TRACE_END_UNKNOWN;
	__atomic_store_n(&process->header->state, TRACE_STATE_RUNNING, __ATOMIC_RELEASE);
}
