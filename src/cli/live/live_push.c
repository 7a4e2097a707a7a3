#include "cli/live/live_push.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "analysis/sites/site_ledger.h"
#include "cli/cli.h"
#include "hosted/now.h"
#include "report/export/pprof.h"

/* After a failure a profile is tried again, first after so long, then after twice as long, … */
#define AGAIN_MS UINT64_C(1000)

struct live_push {
	const struct push_options *wanted;
	struct live_profile *profile;
	pthread_t thread;
	int stop; /* eventfd: the program has ended */
	struct site_ledger sent, pending;
	uint64_t sent_ns;              /* when the last profile was taken that the store took */
	uint64_t taken_ns;             /* when the present one was taken */
	struct buf pprof;              /* the present one */
	uint64_t pushed, failed, late; /* late: failures since the last success */
};

static void push_destroy(struct live_push *push)
{
	if (push->stop >= 0)
		close(push->stop);
	site_ledger_deinit(&push->sent);
	site_ledger_deinit(&push->pending);
	buf_deinit(&push->pprof);
	free(push);
}
CLEANUP_DEFINE(struct live_push *, push_destroy);

/* Makes a profile of a look. */
static struct err *take_profile(void *argument, const struct profile_look *look)
{
	struct live_push *push = argument;
	bool adds = push_target_adds(&push->wanted->target);
	auto_free struct site *sites = NULL;
	struct site ended;
	struct err *err = site_ledger_since(look->sums, adds ? &push->sent : NULL, look->recording,
					    look->symbolized, SITE_SINCE_ALLOCATED, &sites, &ended);

	if (err)
		return err;
	push->taken_ns = now_ns();
	push->pprof.size = 0;
	site_ledger_deinit(&push->pending);
	err = site_ledger_join(&push->pending, look->sums);
	if (err)
		return err;
	return pprof_write(&push->pprof, look->recording, look->symbolized,
			   &(struct pprof_options){
				   .samples = PPROF_SAMPLES,
				   .plain = true,
				   .sites = sites,
				   .ended = &ended,
				   .duration_ns = adds ? push->taken_ns - push->sent_ns : 0,
			   });
}

static struct err *send_profile(struct live_push *push, enum push_result *ret, struct buf *why)
{
	struct push_profile profile = {
		.pprof = push->pprof.data,
		.size = push->pprof.size,
		.labels = push->wanted->labels,
		.label_count = push->wanted->label_count,
	};

	return push_send(&push->wanted->target, &profile, push->wanted->headers, ret, why);
}

/* What was taken is what the next profile is a change of. */
static void note_taken(struct live_push *push)
{
	if (push->late)
		cli_error(CLI_OK, "%s takes profiles again", push->wanted->target.url);
	push->late = 0;
	push->pushed++;
	push->sent_ns = push->taken_ns;
	site_ledger_deinit(&push->sent);
	push->sent = push->pending;
	push->pending = (struct site_ledger){0};
}

/* Looks, and sends. Returns whether to try again soon. */
static bool push_once(struct live_push *push)
{
	cleanup(buf_deinit) struct buf why = BUF_EMPTY;
	enum push_result result = PUSH_LATER;
	bool any;
	struct err *err = live_profile_look(push->profile, take_profile, push, &any);

	if (!err && !any)
		return false;
	if (!err)
		err = send_profile(push, &result, &why);
	if (!err && result == PUSH_TAKEN) {
		note_taken(push);
		return false;
	}
	push->failed++;
	if (!push->late++)
		cli_error(CLI_OK, "%s did not take a profile: %s", push->wanted->target.url,
			  err                ? err_message(err)
			  : buf_string(&why) ? buf_string(&why)
					     : "");
	err_destroy(err);
	return result == PUSH_LATER;
}

/* Waits. false: the program has ended. */
static bool wait_ms(const struct live_push *push, uint64_t ms)
{
	struct pollfd polled = {.fd = push->stop, .events = POLLIN};
	uint64_t until = now_ns() + ms * 1000000;
	uint64_t now;

	while ((now = now_ns()) < until && !polled.revents)
		poll(&polled, 1,
		     (int)((until - now) / 1000000 < 60000 ? (until - now) / 1000000 + 1 : 60000));
	return !polled.revents;
}

static void *push_profiles(void *argument)
{
	struct live_push *push = argument;
	uint64_t interval = push->wanted->interval_ms, again = 0;

	while (wait_ms(push, again ? again : interval)) {
		if (!push_once(push))
			again = 0;
		else
			again = !again ? AGAIN_MS : 2 * again;
		if (again >= interval)
			again = 0;
	}
	push_once(push);
	return NULL;
}

int live_push_start(const struct push_options *wanted, struct live_profile *profile,
		    struct live_push **ret)
{
	cleanup(push_destroy_at) struct live_push *push = NULL;
	sigset_t all, before;
	int number;

	*ret = NULL;
	if (!wanted->target.url)
		return CLI_OK;
	push = calloc(1, sizeof(*push));
	if (!push)
		return cli_report_err(err_no_memory());
	push->wanted = wanted;
	push->profile = profile;
	push->sent_ns = now_ns();
	buf_init(&push->pprof);
	push->stop = eventfd(0, EFD_CLOEXEC);
	if (push->stop < 0)
		return cli_report_err(err_create_errno(errno, "cannot make an event"));
	// Another thread waits for the tool's signals.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&push->thread, NULL, push_profiles, push);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (number)
		return cli_report_err(err_create_errno(number, "cannot start a thread"));
	*ret = steal(&push);
	return CLI_OK;
}

void live_push_end(struct live_push *push)
{
	if (!push)
		return;
	eventfd_write(push->stop, 1);
	pthread_join(push->thread, NULL);
	if (push->late)
		cli_error(CLI_FAILED,
			  "%s did not take the last profile (%" PRIu64 " were taken, "
			  "%" PRIu64 " tries failed)",
			  push->wanted->target.url, push->pushed, push->failed);
	push_destroy(push);
}
