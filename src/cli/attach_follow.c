#include "cli/attach_follow.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"

static sigset_t ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

struct attach_signals attach_signals_take(void)
{
	const sigset_t set = ending_signals();
	struct attach_signals signals;

	sigprocmask(SIG_BLOCK, &set, &signals.before);
	signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return signals;
}

void attach_signals_release(struct attach_signals *signals)
{
	const sigset_t set = ending_signals();
	const struct timespec now = {0, 0};

	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
}

struct err *attach_follow(struct recorder *recorder, const struct attach_signals *signals,
			  uint64_t until_ns, bool *ret_ended)
{
	const struct target *target = tracer_target(recorder_tracer(recorder));
	auto_close int process = (int)syscall(SYS_pidfd_open, target->pid, 0);
	struct pollfd list[] = {{.fd = signals->fd, .events = POLLIN},
				{.fd = process, .events = POLLIN}};
	struct err *err = NULL;

	*ret_ended = process < 0;
	while (!err && !*ret_ended && !list[0].revents && !recorder_has_executed(recorder) &&
	       (!until_ns || now_ns() < until_ns)) {
		poll(list, 2, RECORDER_STEP_MS);
		*ret_ended = list[1].revents != 0;
		err = recorder_step(recorder);
	}
	return err ? err : recorder_end(recorder, *ret_ended);
}
