#include "cli/attach/attach_follow.h"

#include <errno.h>
#include <sys/epoll.h>
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

static bool watch_descriptor(int waiter, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(waiter, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct err *attach_follow(struct recorder *recorder, const struct attach_signals *signals,
			  uint64_t until_ns, bool *ret_ended)
{
	const struct target *target = tracer_target(recorder_tracer(recorder));
	auto_close int process = (int)syscall(SYS_pidfd_open, target->pid, 0);
	auto_close int waiter = epoll_create1(EPOLL_CLOEXEC);
	bool told = false;
	struct err *err = NULL;

	*ret_ended = process < 0;
	if (!watch_descriptor(waiter, signals->fd, EPOLLIN) ||
	    (!*ret_ended && !watch_descriptor(waiter, process, EPOLLIN)) ||
	    !watch_descriptor(waiter, tracer_descriptor(recorder_tracer(recorder)),
			      EPOLLIN | EPOLLET))
		return err_create_errno(errno, "a descriptor to wait with");
	while (!err && !*ret_ended && !told && !recorder_has_executed(recorder) &&
	       (!until_ns || now_ns() < until_ns)) {
		struct epoll_event events[3];
		int count = epoll_wait(waiter, events, 3, RECORDER_STEP_MS);

		for (int i = 0; i < count; i++) {
			*ret_ended = *ret_ended || events[i].data.fd == process;
			told = told || events[i].data.fd == signals->fd;
		}
		err = recorder_step(recorder);
	}
	if (!err)
		err = recorder_end(recorder, *ret_ended);
	if (err)
		recorder_stop(recorder);
	return err;
}
