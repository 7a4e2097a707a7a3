#include "agent/life/signal_chain.h"

#include <errno.h>
#include <signal.h>

#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/life/process.h"
#include "agent/life/toggle.h"
#include "agent/live/live.h"
#include "base/compiler.h"

// Flags that say how the kernel calls a handler. Ours is installed with those of the program's.
#define KEPT_FLAGS (SA_NODEFER | SA_ONSTACK | SA_RESTART)

/* What to do at the signal that a setting names. */
struct meaning {
	enum setting setting;
	void (*carry_out)(void);
};

static void report_by_size(void)
{
	live_report(HELPER_SORT_SIZE);
}

static void report_by_count(void)
{
	live_report(HELPER_SORT_COUNT);
}

static const struct meaning meanings[] = {
	{SETTING_SIGNAL_TOGGLE, toggle_flip},
	{SETTING_SIGNAL_DUMP_SIZE, report_by_size},
	{SETTING_SIGNAL_DUMP_COUNT, report_by_count},
	{SETTING_SIGNAL_BASELINE, live_forget},
};

/*
 * The action that the program has set for such a signal, as the kernel would keep it. A handler may
 * read it while another thread changes it. So there are two copies, and `current` is the index of
 * the valid one.
 */
struct own_signal {
	int number; // atomic; 0: no handler of ours
	struct sigaction actions[2];
	uint32_t current; // atomic
	uint32_t lock;
};

static struct own_signal own_signals[ARRAY_COUNT(meanings)];

static bool is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void set_action(struct own_signal *own, const struct sigaction *action)
{
	uint32_t next = !__atomic_load_n(&own->current, __ATOMIC_RELAXED);

	own->actions[next] = *action;
	__atomic_store_n(&own->current, next, __ATOMIC_RELEASE);
}

static struct sigaction get_action(const struct own_signal *own)
{
	return own->actions[__atomic_load_n(&own->current, __ATOMIC_ACQUIRE)];
}

/* NULL: the signal has no meaning for us. */
static struct own_signal *find_own(int number)
{
	for (size_t i = 0; number > 0 && i < ARRAY_COUNT(own_signals); i++)
		if (own_signals[i].number == number)
			return &own_signals[i];
	return NULL;
}

static void on_signal(int number, siginfo_t *info, void *context);

/* Installs our handler, with the mask and flags of the program's; without one, with SA_RESTART. */
static int install_handler(const struct own_signal *own, const struct sigaction *action)
{
	struct sigaction ours = {.sa_flags = SA_RESTART};

	if (is_handler(action)) {
		ours.sa_mask = action->sa_mask;
		ours.sa_flags = action->sa_flags & KEPT_FLAGS;
	}
	ours.sa_sigaction = on_signal;
	ours.sa_flags |= SA_SIGINFO;
	return real.sigaction(own->number, &ours, NULL);
}

/* SA_RESETHAND: the program's handler is called once, then the default applies. */
static void reset_action(struct own_signal *own)
{
	struct sigaction none = {.sa_handler = SIG_DFL};

	set_action(own, &none);
}

/* One signal may mean several things. */
static void carry_out(int number)
{
	for (size_t i = 0; i < ARRAY_COUNT(meanings); i++)
		if ((int)config.value[meanings[i].setting] == number)
			meanings[i].carry_out();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct own_signal *own = find_own(number);
	int *place = real.errno_location ? real.errno_location() : NULL;
	int before = place ? *place : 0;
	struct sigaction action;

	if (!own)
		return;
	action = get_action(own);
	if (action.sa_flags & (int)SA_RESETHAND)
		reset_action(own);
	carry_out(number);
	if (place)
		*place = before;
	if (!is_handler(&action))
		return;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

static void begin_one(struct own_signal *own, int number)
{
	struct sigaction before;

	if (!number || find_own(number) || real.sigaction(number, NULL, &before))
		return;
	set_action(own, &before);
	own->number = number;
	if (install_handler(own, &before))
		own->number = 0;
}

void signal_chain_begin(void)
{
	static uint32_t begun;

	if (toggle_is_off())
		process_settle_toggle_slow();
	if (!real.sigaction || !process_read_settings() ||
	    __atomic_exchange_n(&begun, 1, __ATOMIC_ACQUIRE))
		return;
	for (size_t i = 0; i < ARRAY_COUNT(meanings); i++)
		begin_one(&own_signals[i], (int)config.value[meanings[i].setting]);
}

void signal_chain_before_exec(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < ARRAY_COUNT(own_signals); i++) {
		const struct own_signal *own = &own_signals[i];

		if (own->number && get_action(own).sa_handler == SIG_IGN)
			real.sigaction(own->number, &ignored, NULL);
	}
}

void signal_chain_after_exec(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(own_signals); i++) {
		const struct own_signal *own = &own_signals[i];
		struct sigaction action = get_action(own);

		if (own->number && action.sa_handler == SIG_IGN)
			install_handler(own, &action);
	}
}

struct own_signal *signal_chain_find(int number)
{
	if (number <= 0)
		return NULL;
	signal_chain_begin();
	return find_own(number);
}

int signal_chain_change(struct own_signal *own, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction before;
	struct signal_bracket bracket;
	int result = 0;

	// A vfork child has signals of its own, and its parent's memory.
	if (process_is_borrowed()) {
		before = get_action(own);
		if (new)
			result = real.sigaction(own->number, new, NULL);
		if (old)
			*old = before;
		return result;
	}
	signal_bracket_begin(&bracket);
	before = get_action(own);
	if (new &&lock_try(&own->lock)) {
		set_action(own, new);
		result = install_handler(own, new);
		lock_release(&own->lock);
	}
	signal_bracket_end(&bracket);
	if (old)
		*old = before;
	return result;
}
