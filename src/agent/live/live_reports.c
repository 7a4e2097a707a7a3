/* When reports of the live table are made: by signal, by the clock, and at the end (live.h). */
#include "agent/live/live.h"

#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/live/live_state.h"
#include "agent/live/live_sampled.h"
#include "agent/live_blocks/live_memory.h"

#define LOOK_NS  UINT64_C(10000000)   /* between two looks, while a report waits … */
#define CLOCK_NS UINT64_C(1000000000) /* … and otherwise */

/* Notes a pair of readings, by which readers know how long a tick is. Returns the time. */
static uint64_t note_clock(struct live *live)
{
	uint64_t ns = clock_monotonic_ns();

	__atomic_store_n(&live->header->now_ticks, clock_ticks(), __ATOMIC_RELAXED);
	__atomic_store_n(&live->header->now_monotonic_ns, ns, __ATOMIC_RELAXED);
	return ns;
}

static struct live *table_to_report(void)
{
	return process_state() == PROCESS_RECORDING && !process_is_borrowed() &&
			       !process_system_calls_forbidden()
		       ? process->live
		       : NULL;
}

static void want_report(struct live *live, enum helper_sort sort)
{
	__atomic_fetch_or(&live->wanted, 1u << sort, __ATOMIC_RELAXED);
	__atomic_store_n(&live->next_look, 0, __ATOMIC_RELAXED);
}

void live_report(enum helper_sort sort)
{
	struct live *live = table_to_report();

	if (!live)
		return;
	note_clock(live);
	if (!helper_start(sort, false))
		want_report(live, sort);
}

static void start_wanted(struct live *live)
{
	uint32_t wanted = __atomic_exchange_n(&live->wanted, 0, __ATOMIC_RELAXED);

	for (; wanted; wanted &= wanted - 1) {
		enum helper_sort sort = (enum helper_sort)__builtin_ctz(wanted);

		if (!helper_start(sort, false))
			__atomic_fetch_or(&live->wanted, 1u << sort, __ATOMIC_RELAXED);
	}
}

/* INTERVAL: starts a report if one is due; one, if several were missed for want of events. */
static void start_due(struct live *live, uint64_t now)
{
	uint64_t interval = config.value[SETTING_INTERVAL];

	if (!interval)
		return;
	if (!live->next_report_ns)
		live->next_report_ns = process->header->start_monotonic_ns + interval;
	if (now < live->next_report_ns)
		return;
	live->next_report_ns = now + interval;
	if (!helper_start(HELPER_SORT_DEFAULT, false))
		__atomic_fetch_or(&live->wanted, 1u << HELPER_SORT_DEFAULT, __ATOMIC_RELAXED);
}

/* When to look again, in ticks from the start. How long a tick is follows from the time so far. */
static uint64_t next_look(const struct live *live, uint64_t now, uint64_t ticks)
{
	uint64_t since = now - process->header->start_monotonic_ns, wait = CLOCK_NS, past = ticks;

	if (live->wanted)
		wait = LOOK_NS;
	if (config.value[SETTING_INTERVAL] && live->next_report_ns - now < wait)
		wait = live->next_report_ns - now;
	if (since < LOOK_NS / 10)
		return ticks * 2 + 1; // too short to tell
	for (; since >> 30; since >>= 1)
		past >>= 1; // so that the product fits
	return ticks + past * wait / since;
}

struct looking {
	struct live *live;
	uint64_t ticks;
};

static void look_for_reports(void *argument)
{
	struct live *live = ((struct looking *)argument)->live;
	uint64_t ticks = ((struct looking *)argument)->ticks, now;
	uint64_t last = __atomic_load_n(&live->next_look, __ATOMIC_RELAXED);

	if (live && table_to_report() == live && last <= ticks &&
	    __atomic_compare_exchange_n(&live->next_look, &last, UINT64_MAX, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		now = note_clock(live);
		helper_reap();
		start_wanted(live);
		start_due(live, now);
		last = UINT64_MAX;
		// If a report was asked for meanwhile, next_look is 0, and stays so.
		__atomic_compare_exchange_n(&live->next_look, &last, next_look(live, now, ticks),
					    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

never_inline void live_reports_look_slow(struct live *live, uint64_t ticks)
{
	struct looking looking = {live, ticks};

	// One thread looks, with signals blocked: a handler would only find that a thread is
	// looking.
	signal_bracket_run(look_for_reports, &looking);
}

void live_report_at_end(void)
{
	struct live *live = process->live;

	if (!live || __atomic_exchange_n(&live->ended, 1, __ATOMIC_RELAXED) ||
	    process_system_calls_forbidden())
		return;
	note_clock(live);
	// Reports that are being made are waited for.
	if (!helper_start(HELPER_SORT_DEFAULT, true)) {
		helper_wait();
		helper_start(HELPER_SORT_DEFAULT, true);
	}
	helper_wait();
}

static void forget_threads(struct live *live)
{
	for (uint32_t i = 0; i < live->header->threads; i++)
		live->threads.entries[i].calls = live->threads.entries[i].bytes = 0;
}

/*
 * Blocks first: then the ends of old blocks are unknown from now on. A thread in the middle of an
 * event may leave a block that is counted on one side only.
 */
void live_forget(void)
{
	struct live *live = table_to_report();
	struct signal_bracket bracket;

	if (!live)
		return;
	signal_bracket_begin(&bracket);
	live_sampled_clear(); // first: it must keep the blocks that begin meanwhile
	__atomic_fetch_add(&live->reclaim.emptying, 1, __ATOMIC_SEQ_CST);
	block_table_empty(&live->blocks);
	__atomic_fetch_sub(&live->reclaim.emptying, 1, __ATOMIC_RELEASE);
	live_memory_empty(LIVE_PART_FREED);
	sites_forget(&live->sites, live->header);
	forget_threads(live);
	live->header->base_ticks = clock_ticks();
	live->header->baselines++;
	signal_bracket_end(&bracket);
}
