#include "agent/life/toggle.h"

#include "agent/arch/syscall.h"
#include "agent/event/event.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/life/process.h"
#include "agent/life/thread.h"
#include "agent/record/fact_record.h"

// Which process carries out what was asked for last. Kept across fork, and the thread that holds
// the lock is not in the child (try_lock()).
static int lock_owner; // atomic, a process id; 0: free

/* Writes the record. If a handler interrupted the agent, the record waits in `pending`. */
static void write_or_keep(struct thread *thread, const struct fact_record *record)
{
	struct event event = {.operation = record->kind, .ticks = record->ticks};
	struct arch_mark outer;

	if (thread->busy) {
		handler_queue_add(thread, &event, NULL);
		return;
	}
	outer = thread_begin_work(thread);
	fact_record_write(thread, record);
	thread_end_work(thread, outer);
}

/* Writes into the calling thread's stream, which begins if need be. In a signal bracket. */
static void write_switch(enum trace_record kind)
{
	static uint64_t last; // no two records have the same time, so that readers can order them
	struct thread *thread = thread_self;
	struct fact_record record = {.kind = kind, .has_time = true, .ticks = clock_ticks()};

	if (record.ticks <= last)
		record.ticks = last + 1;
	last = record.ticks;
	if (!thread || !thread->cursor)
		thread = thread_begin_slow(false);
	if (thread && thread->cursor)
		write_or_keep(thread, &record);
}

/*
 * From now on the threads ask admission.c. Which blocks were recorded until now is not known one by
 * one, so the set holds those that are not recorded. A thread that begins meanwhile is either in
 * the list or sees toggle_watched (both are sequentially consistent).
 */
static void begin_to_watch(void)
{
	struct thread *thread;

	if (toggle_is_watched())
		return;
	admission_begin();
	__atomic_store_n(&toggle_watched, 1, __ATOMIC_SEQ_CST);
	for (thread = __atomic_load_n(&process->threads, __ATOMIC_SEQ_CST); thread;
	     thread = thread->all_next) {
		__atomic_store_n(&thread->selective, 1, __ATOMIC_RELEASE);
		event_clock_be_exact(thread);
	}
	event_clock_end_lone();
}

/* If no recording has begun yet, none of the work above is needed. */
static void stop_now(void)
{
	if (process_state() == PROCESS_RECORDING)
		begin_to_watch();
	else
		__atomic_store_n(&toggle_watched, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&toggle_state, TOGGLE_OFF, __ATOMIC_SEQ_CST);
	if (process_state() == PROCESS_RECORDING)
		write_switch(TRACE_RECORD_OFF);
}

/* The first start. If it fails, a later one may succeed. */
static void begin_recording(void)
{
	process_try_again();
	__atomic_store_n(&toggle_state, TOGGLE_ON, __ATOMIC_SEQ_CST);
	thread_begin_slow(false);
	if (process_state() == PROCESS_RECORDING)
		return;
	__atomic_store_n(&toggle_wanted, TOGGLE_OFF, __ATOMIC_SEQ_CST);
	__atomic_store_n(&toggle_state, TOGGLE_OFF, __ATOMIC_SEQ_CST);
}

static void start_now(void)
{
	toggle_started = true;
	if (process_state() != PROCESS_RECORDING)
		return begin_recording();
	write_switch(TRACE_RECORD_ON);
	__atomic_store_n(&toggle_state, TOGGLE_ON, __ATOMIC_SEQ_CST);
}

static bool try_lock(void)
{
	int pid = sys_getpid(), owner = 0;

	for (;;) {
		if (__atomic_compare_exchange_n(&lock_owner, &owner, pid, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
		// Another process's id: it forked while it held the lock, and the holder is not in
		// this child. The next round takes the lock over.
		if (owner == pid)
			return false;
	}
}

static bool is_as_wanted(uint32_t *state)
{
	*state = __atomic_load_n(&toggle_wanted, __ATOMIC_SEQ_CST);
	return *state == __atomic_load_n(&toggle_state, __ATOMIC_SEQ_CST);
}

/* Carries out what was asked for last. If another thread is doing so, that one does. */
static void carry_out(void)
{
	struct signal_bracket bracket;
	uint32_t state;

	signal_bracket_begin(&bracket);
	while (!is_as_wanted(&state) && try_lock()) {
		while (!is_as_wanted(&state)) {
			if (state == TOGGLE_OFF)
				stop_now();
			else
				start_now();
		}
		__atomic_store_n(&lock_owner, 0, __ATOMIC_SEQ_CST);
	}
	signal_bracket_end(&bracket);
}

static bool is_settled(void)
{
	process_settle_toggle_slow();
	return __atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_UNSETTLED;
}

/* Ends the wait of an agent that is linked into the program: a recording is asked for. */
static void wake_waiter(void)
{
	if (!toggle_is_idle())
		return;
	__atomic_store_n(&toggle_watched, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&toggle_idle, 0, __ATOMIC_SEQ_CST);
}

void toggle_start(void)
{
	if (!is_settled() || process_is_borrowed())
		return;
	if (config.unseen)
		return config_say_unseen();
	wake_waiter();
	__atomic_store_n(&toggle_wanted, TOGGLE_ON, __ATOMIC_SEQ_CST);
	carry_out();
}

void toggle_stop(void)
{
	if (!is_settled() || process_is_borrowed())
		return;
	__atomic_store_n(&toggle_wanted, TOGGLE_OFF, __ATOMIC_SEQ_CST);
	carry_out();
}

void toggle_flip(void)
{
	if (!is_settled() || process_is_borrowed())
		return;
	__atomic_fetch_xor(&toggle_wanted, TOGGLE_ON ^ TOGGLE_OFF, __ATOMIC_SEQ_CST);
	carry_out();
}
