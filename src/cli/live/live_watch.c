#include "cli/live/live_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/load/load.h"
#include "cli/cli.h"
#include "cli/run/descriptor_inbox.h"
#include "cli/run/run_registry.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "trace/chunk_check.h"

#define TABLES_MOST 512       /* tables kept at a time: enough for a tree of processes */
#define WAIT_S      5         /* seconds to wait for room in the socket */
#define STACK_SIZE  (8 << 20) /* of the thread that makes reports, whatever the limit is */
#define LAST_MS     10000     /* milliseconds to wait for a last report that somebody else makes */
#define NAP_MS      10
#define REPORT_MOST (256 << 20) /* bytes of a report that another process made */

/* A report that a process asked for. */
struct plea {
	int table;
	enum registry_kind asked;
};

struct live_watch {
	pthread_t thread;
	live_watch_report *make;
	live_watch_opened *opened;
	void *argument;
	struct descriptor_inbox inbox;
	int stop;                        /* eventfd */
	const struct run_child_end *end; /* before `stop` is raised: how the program ended */
	bool any;
	bool ended;      /* a process has ended without a report */
	bool has_stderr; /* the tool began with a standard error: number 2 is no file of ours */
	VEC(int) tables;
	VEC(struct plea) pleas;
	struct started_programs started;
};

/* The first bytes of a table. */
struct table_head {
	struct trace_header header;
	char unused[LIVE_HEADER_OFFSET - sizeof(struct trace_header)];
	struct live_header live;
};

static void watch_destroy(struct live_watch *watch)
{
	for (size_t i = 0; i < watch->tables.count; i++)
		close(watch->tables.items[i]);
	vec_deinit(&watch->tables);
	vec_deinit(&watch->pleas);
	started_programs_deinit(&watch->started);
	descriptor_inbox_close(&watch->inbox);
	if (watch->stop >= 0)
		close(watch->stop);
	free(watch);
}
CLEANUP_DEFINE(struct live_watch *, watch_destroy);

/* The state of the report at a process's end. */
enum verdict {
	RUNS,   /* the process runs, or it was killed */
	MAKING, /* somebody makes the report, or will */
	OWED,   /* it could not be made, or nobody is left to make it */
	SETTLED /* nothing is to be done */
};

static enum verdict judge_table(int table)
{
	struct table_head head;
	ssize_t got = pread(table, &head, sizeof(head), 0);
	pid_t keeper;

	if (got < (ssize_t)sizeof(head) ||
	    header_check(&head, (size_t)got, &head.header) != HEADER_VALID)
		return SETTLED;
	if (head.header.state != TRACE_STATE_ENDED)
		return RUNS;
	if (head.header.end_reason == TRACE_END_EXEC ||
	    head.live.last_report == LIVE_LAST_REPORT_WRITTEN)
		return SETTLED;
	if (head.live.last_report == LIVE_LAST_REPORT_FAILED)
		return OWED;
	keeper = (pid_t)head.live.keeper;
	if (load_writer_alive(head.header.pid, head.header.start_time) ||
	    (keeper > 0 && (kill(keeper, 0) == 0 || errno == EPERM)))
		return MAKING;
	return OWED;
}

/*
 * Waits for a report that somebody makes. If it takes too long it is left to them: debug files may
 * be downloading.
 */
static enum verdict judge_at_end(int table)
{
	const struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
	enum verdict verdict = judge_table(table);

	for (int ms = 0; verdict == MAKING && ms < LAST_MS; ms += NAP_MS) {
		nanosleep(&nap, NULL);
		verdict = judge_table(table);
	}
	return verdict;
}

/* Makes the owed reports of processes that have ended, and closes their tables. */
static void settle_tables(struct live_watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->tables.count; i++) {
		int table = watch->tables.items[i];
		enum verdict verdict = judge_table(table);

		if (verdict == OWED)
			watch->make(watch->argument, table, REGISTRY_LAST);
		if (verdict == OWED || verdict == SETTLED)
			close(table);
		else
			watch->tables.items[kept++] = table;
	}
	watch->tables.count = kept;
}

static void take_table(struct live_watch *watch, int table, pid_t pid)
{
	watch->any = true;
	if (watch->opened)
		watch->opened(watch->argument, table, pid);
	settle_tables(watch);
	if (watch->tables.count >= TABLES_MOST || !vec_push(&watch->tables, table))
		close(table);
}

/* Prints a report in one write, as its process would have done. */
static void print_report(const struct live_watch *watch, int report)
{
	auto_free char *text = NULL;
	struct stat status;
	ssize_t size;

	if (!watch->has_stderr || fstat(report, &status) < 0 || status.st_size <= 0 ||
	    status.st_size > REPORT_MOST)
		return;
	text = malloc((size_t)status.st_size);
	size = text ? pread(report, text, (size_t)status.st_size, 0) : 0;
	if (size > 0)
		fwrite(text, 1, (size_t)size, stderr);
}

/* Says of a program that it has no table, each once. */
static void say_unseen(struct live_watch *watch, const char *text)
{
	cleanup(buf_deinit) struct buf said = BUF_EMPTY;

	if (!watch->has_stderr || !started_programs_add(&watch->started, text))
		return;
	err_destroy(started_program_put(&said, text));
	if (said.size)
		cli_error(CLI_OK, "%s", buf_string(&said));
}

/*
 * Handles a message. Its descriptor is owned: closed now, or kept. REGISTRY_LAST only says that a
 * process ended: its table tells the rest.
 */
static void note_message(struct live_watch *watch, const struct inbox_message *message)
{
	const struct plea plea = {.table = message->fd, .asked = message->kind};

	switch (message->kind) {
	case REGISTRY_OPENED:
		take_table(watch, message->fd, message->pid);
		return;
	case REGISTRY_REPORT:
		print_report(watch, message->fd);
		break;
	case REGISTRY_MAKE:
	case REGISTRY_BY_SIZE:
	case REGISTRY_BY_COUNT:
		if (vec_push(&watch->pleas, plea))
			return;
		break;
	case REGISTRY_LAST:
		watch->ended = true;
		break;
	case REGISTRY_REFUSED:
	case REGISTRY_STARTED:
		say_unseen(watch, message->text);
		break;
	}
	if (message->fd >= 0)
		close(message->fd);
}

/* Takes all messages that wait in the socket. */
static void receive_messages(struct live_watch *watch)
{
	struct inbox_message message;

	while (descriptor_inbox_take(&watch->inbox, &message)) {
		// Anything else may make us wait for who serves its file system.
		if (message.fd < 0 || descriptor_inbox_in_memory(message.fd))
			note_message(watch, &message);
		else
			close(message.fd);
	}
}

/*
 * Empties the socket before it makes reports: a report takes a while, and the socket holds ten
 * messages.
 */
static void serve_messages(struct live_watch *watch)
{
	do {
		receive_messages(watch);
		for (size_t i = 0; i < watch->pleas.count; i++) {
			const struct plea *plea = &watch->pleas.items[i];

			watch->make(watch->argument, plea->table, plea->asked);
			close(plea->table);
		}
		watch->pleas.count = 0;
		if (watch->ended)
			settle_tables(watch);
		watch->ended = false;
		receive_messages(watch);
	} while (watch->pleas.count || watch->ended);
}

/*
 * The program left without the agent, by a system call. Its status is known, so the table says that
 * it has ended. After a signal it says what it is: killed.
 */
static void note_exit(const struct live_watch *watch, int table)
{
	const struct run_child_end *end = watch->end;
	struct trace_header header;

	if (!end || !WIFEXITED(end->wait_status) ||
	    pread(table, &header, sizeof(header), 0) != sizeof(header) ||
	    header.pid != (uint32_t)end->pid || header.state == TRACE_STATE_ENDED ||
	    (end->process_start && header.start_time != end->process_start))
		return;
	header.state = TRACE_STATE_ENDED;
	header.end_reason = TRACE_END_EXIT;
	header.end_status = (uint32_t)WEXITSTATUS(end->wait_status);
	if (pwrite(table, &header, sizeof(header), 0) < 0)
		return;
}

static void *wait_for_tables(void *argument)
{
	struct live_watch *watch = argument;
	struct pollfd polled[] = {{.fd = watch->inbox.poll, .events = POLLIN},
				  {.fd = watch->stop, .events = POLLIN}};

	while (!polled[1].revents) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return NULL;
		serve_messages(watch);
	}
	for (size_t i = 0; i < watch->tables.count; i++)
		note_exit(watch, watch->tables.items[i]);
	for (size_t i = 0; i < watch->tables.count; i++)
		if (judge_at_end(watch->tables.items[i]) < SETTLED)
			watch->make(watch->argument, watch->tables.items[i], REGISTRY_LAST);
	return NULL;
}

/* Starts the thread with all signals blocked: another thread waits for the tool's signals. */
static int start_thread(struct live_watch *watch)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int number;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&watch->thread, &attributes, wait_for_tables, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return number;
}

struct err *live_watch_start(live_watch_report *make, live_watch_opened *opened, void *argument,
			     struct live_watch **ret)
{
	cleanup(watch_destroy_at) struct live_watch *watch = calloc(1, sizeof(*watch));
	struct err *err;
	int number;

	if (!watch)
		return err_no_memory();
	watch->make = make;
	watch->opened = opened;
	watch->argument = argument;
	watch->inbox = DESCRIPTOR_INBOX_NONE;
	watch->has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
	watch->stop = eventfd(0, EFD_CLOEXEC);
	if (watch->stop < 0)
		return err_create_errno(errno, "cannot make an event");
	err = descriptor_inbox_open(&watch->inbox);
	if (err)
		return err;
	number = start_thread(watch);
	if (number)
		return err_create_errno(number, "cannot start a thread");
	*ret = steal(&watch);
	return NULL;
}

const char *live_watch_variable(const struct live_watch *watch)
{
	return watch->inbox.variable;
}

int live_watch_inherited(const struct live_watch *watch)
{
	return watch->inbox.inherited;
}

struct err *live_watch_hand_over(const char *report, size_t size, bool *none)
{
	auto_close int fd = memfd_create("mallow-report", MFD_CLOEXEC);

	*none = false;
	if (fd < 0 || write(fd, report, size) != (ssize_t)size)
		return err_create_errno(errno, "cannot hand a report to 'mallow live'");
	return descriptor_inbox_send(REGISTRY_REPORT, fd, none);
}

void live_watch_end(struct live_watch *watch, const struct run_child_end *end, bool *any)
{
	watch->end = end;
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	*any = watch->any;
	watch_destroy(watch);
}
