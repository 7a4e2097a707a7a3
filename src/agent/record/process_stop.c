#include "agent/record/process_stop.h"

#include "agent/event/sink.h"
#include "agent/ground/log.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/record/recording.h"

bool (*process_stop_flush)(void);

/* text: the reason, for people. */
static void say_stop(void *text)
{
	if (recording->file.header_private)
		process_stop_flush();
	file_write_header(&recording->file);
	log_start(SETTING_LOG_ERROR);
	log_string("recording '");
	log_string(recording->file.path);
	log_string("' stopped: ");
	log_string(text);
	log_end();
}

void process_stop(enum trace_loss reason, const char *text)
{
	uint32_t state = PROCESS_RECORDING;

	if (process_state() == PROCESS_RECORDING)
		process->loss_if_stopped = reason;
	if (!__atomic_compare_exchange_n(&process->state, &state, PROCESS_STOPPED, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	process->header->end_reason = TRACE_END_STOPPED;
	if (sink->stop)
		sink->stop(reason);
	if (process_system_calls_forbidden())
		return;
	signal_bracket_run(say_stop, (void *)text);
}

void process_stop_for_file(enum file_result result)
{
	switch (result) {
	case FILE_OK:
		break;
	case FILE_WRITE_FAILED:
		process_stop(TRACE_LOSS_WRITE_FAILED,
			     "cannot write (disk full or a size limit); later events are lost");
		break;
	case FILE_REPLACED:
		process_stop(TRACE_LOSS_FILE_REPLACED,
			     "the program closed its descriptor and the file is gone; later events "
			     "are lost");
		break;
	case FILE_WINDOW_FULL:
		process_stop(TRACE_LOSS_WINDOW_FULL, "the space prepared for seccomp is full");
		break;
	case FILE_LIMIT:
		process_stop(TRACE_LOSS_SIZE_LIMIT,
			     "it has reached MALLOW_MAX_FILE_SIZE; later events are lost");
		break;
	case FILE_FULL:
	case FILE_LATE:
		break;
	case FILE_OVERFULL:
		process_stop(TRACE_LOSS_STREAM_BUFFER,
			     "nobody has received it, and twice MALLOW_STREAM_BUFFER waits; later "
			     "events are lost");
		break;
	}
}
