#include "agent/life/toggle.h"

#include "agent/arch/syscall.h"
#include "agent/event/event.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/life/process.h"
#include "agent/life/thread.h"
#include "agent/record/fact_record.h"

// What is wanted, and whether somebody is busy bringing it about. Kept across fork, but for the
// lock: its holder is not in the child.
static uint32_t wanted = TOGGLE_ON; // atomic, enum toggle_state
static int lock_owner;              // atomic, a process id; 0: free

static bool settings_mean_stops(void)
{
	return config.value[SETTING_DISABLE_BY_DEFAULT] || config.value[SETTING_SIGNAL_TOGGLE];
}

bool toggle_settle_slow(void)
{
	uint32_t state = TOGGLE_UNSETTLED, first;

	if (__atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_UNSETTLED ||
	    !process_read_settings())
		return false;
	if (config.waits)
		__atomic_store_n(&toggle_idle, 1, __ATOMIC_RELAXED);
	else if (settings_mean_stops())
		__atomic_store_n(&toggle_watched, 1, __ATOMIC_SEQ_CST);
	first = config.value[SETTING_DISABLE_BY_DEFAULT] ? TOGGLE_OFF : TOGGLE_ON;
	__atomic_store_n(&wanted, first, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&toggle_state, &state, first, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return !toggle_is_off();
}

/* One that could not be written now, because its handler interrupted the agent, waits. */
static void write_or_keep(struct thread *thread, const struct fact_record *record)
{
	struct event event = {.operation = record->kind, .ticks = record->ticks};
	uint64_t outer;

	if (thread->busy) {
		handler_queue_add(thread, &event, NULL);
		return;
	}
	outer = thread_begin_work(thread);
	fact_record_write(thread, record);
	thread_end_work(thread, outer);
}

/* In a signal bracket. The calling thread begins if it has not: the record is its stream's. */
static void write_switch(enum trace_record kind)
{
	static uint64_t last; // no two at one time: by it readers know their order
	struct thread *thread = thread_self;
	struct fact_record record = {.kind = kind, .has_time = true, .ticks = clock_ticks()};

	if (record.ticks <= last)
		record.ticks = last + 1;
	last = record.ticks;
	if (!thread || !thread->cursor)
		thread = thread_begin_slow();
	if (thread && thread->cursor)
		write_or_keep(thread, &record);
}

/*
 * From now on the threads ask admission.c. What was recorded until now is not known one by one, so
 * that the set holds what is not recorded. A thread that begins meanwhile is either in the list
 * or sees toggle_watched (both are sequentially consistent).
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

/* Nothing was begun: it will be without a stop. */
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

static void give_up(void)
{
	__atomic_store_n(&wanted, TOGGLE_OFF, __ATOMIC_SEQ_CST);
	__atomic_store_n(&toggle_state, TOGGLE_OFF, __ATOMIC_SEQ_CST);
}

/* The first start. What it could not do, a later one may. */
static void begin_recording(void)
{
	process_try_again();
	__atomic_store_n(&toggle_state, TOGGLE_ON, __ATOMIC_SEQ_CST);
	thread_begin_slow();
	if (process_state() != PROCESS_RECORDING)
		give_up();
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
		// Of a process that forked while it was held: its owner is not here.
		if (owner == pid)
			return false;
	}
}

static bool is_as_wanted(uint32_t *state)
{
	*state = __atomic_load_n(&wanted, __ATOMIC_SEQ_CST);
	return *state == __atomic_load_n(&toggle_state, __ATOMIC_SEQ_CST);
}

/* Brings about what is wanted, unless another thread is doing so, which then sees to it. */
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
	toggle_settle_slow();
	return __atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_UNSETTLED;
}

/* Somebody asks for a recording after all. */
static void wake(void)
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
	wake();
	__atomic_store_n(&wanted, TOGGLE_ON, __ATOMIC_SEQ_CST);
	carry_out();
}

void toggle_stop(void)
{
	if (!is_settled() || process_is_borrowed())
		return;
	__atomic_store_n(&wanted, TOGGLE_OFF, __ATOMIC_SEQ_CST);
	carry_out();
}

void toggle_flip(void)
{
	if (!is_settled() || process_is_borrowed())
		return;
	__atomic_fetch_xor(&wanted, TOGGLE_ON ^ TOGGLE_OFF, __ATOMIC_SEQ_CST);
	carry_out();
}
