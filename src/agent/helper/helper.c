#include "agent/helper/helper.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/lock.h"
#include "agent/ground/log.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "agent/helper/registry.h"
#include "agent/helper/tool.h"
#include "agent/record/recording.h"
#include "base/compiler.h"
#include "trace/live.h"

#define KEEPERS    4 /* reports that may be made at once */
#define STACK_SIZE 8192
#define WAIT_MS    10000
#define ARGUMENTS  8
#define FD_PATH    "/proc/self/fd/"

/* A keeper's data. It may run longer than the call that starts it. */
struct keeper {
	struct tool tool;
	int pid;      /* 0: none */
	int status;   /* of the helper, as wait4() gives it; -1: not yet, or there was none */
	bool awaited; /* a thread waits for it, to know the status */
	bool is_report, last;
	enum registry_kind plea; /* what to send to `mallow live` if there is no report … */
	long told;               /* … and what came of that */
	int error;               /* why the keeper could not be started; 0: it was */
	struct live_header *header;
	char descriptor[16 + sizeof(FD_PATH)];
	const char *arguments[ARGUMENTS];
	char stack[STACK_SIZE] __attribute__((aligned(16)));
};

static struct keeper keepers[KEEPERS]; // under lock
static uint32_t lock;

/* Notes the outcome of a report. Called by the keeper, or by the process that could start none. */
static void settle_report(struct keeper *keeper)
{
	if (!keeper->is_report)
		return;
	if (keeper->last)
		__atomic_store_n(&keeper->header->last_report,
				 keeper->status ? LIVE_LAST_REPORT_FAILED
						: LIVE_LAST_REPORT_WRITTEN,
				 __ATOMIC_RELEASE);
	// `mallow live` looks there for the last one. The program itself never waits for the
	// socket.
	if (keeper->status)
		keeper->told = registry_tell(keeper->tool.fd, keeper->plea, "",
					     !keeper->last && !keeper->error);
}

/* The keeper. All signals are blocked. */
static void run_keeper(void *argument)
{
	struct keeper *keeper = argument;
	long helper = tool_vfork(&keeper->tool);

	// They are copies, which would keep pipes open.
	tool_close_others(0, keeper->tool.fd);
	while (helper > 0 &&
	       syscall_raw(SYS_wait4, helper, (long)&keeper->status, __WALL, 0, 0, 0) == -EINTR)
		;
	settle_report(keeper);
	for (;;)
		syscall_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
}

/*
 * Fills in what all keepers need; `before` comes before the number of the table's descriptor.
 * Returns where the arguments go on.
 */
static const char **fill_keeper(struct keeper *keeper, const char *before)
{
	struct text text;

	keeper->tool = (struct tool){
		.arguments = keeper->arguments,
		.fd = recording->file.fd,
		.output = -1,
		.stderr_is_own = log_stderr_is_own(),
	};
	keeper->status = -1;
	keeper->is_report = keeper->last = false;
	keeper->told = -ENOENT;
	keeper->error = 0;
	text_init(&text, keeper->descriptor, sizeof(keeper->descriptor));
	text_string(&text, before);
	text_number(&text, (uint64_t)keeper->tool.fd);
	keeper->arguments[0] = tool_path();
	return keeper->arguments + 1;
}

static void fill_report(struct keeper *keeper, enum helper_sort sort, bool last)
{
	static const enum registry_kind pleas[] = {REGISTRY_MAKE, REGISTRY_BY_SIZE,
						   REGISTRY_BY_COUNT};
	const char **argument = fill_keeper(keeper, "");

	keeper->is_report = true;
	keeper->last = last;
	keeper->plea = last ? REGISTRY_LAST : pleas[sort];
	keeper->header = (struct live_header *)((char *)process->header + LIVE_HEADER_OFFSET);

	*argument++ = "live-report";
	*argument++ = "--fd";
	*argument++ = keeper->descriptor;
	if (sort != HELPER_SORT_DEFAULT) {
		*argument++ = "--sort";
		*argument++ = sort == HELPER_SORT_SIZE ? "size" : "count";
	}
	*argument = NULL;
}

static void fill_export(struct keeper *keeper, const char *format, int output)
{
	const char **argument = fill_keeper(keeper, FD_PATH);

	*argument++ = "export";
	*argument++ = "--to";
	*argument++ = format;
	*argument++ = keeper->descriptor;
	*argument = NULL;
	keeper->tool.output = output;
}

static void nap_shortly(void)
{
	static const struct kernel_time millisecond = {.tv_nsec = 1000000};

	sys_nanosleep(&millisecond);
}

static void say_why(const struct keeper *keeper)
{
	if (keeper->error) {
		log_string("no process can be started for it");
		log_error_number(keeper->error);
		return;
	}
	log_string("'");
	log_string(keeper->arguments[0]);
	log_string("' ended with ");
	log_string(WIFSIGNALED(keeper->status) ? "signal " : "status ");
	log_number(WIFSIGNALED(keeper->status) ? WTERMSIG(keeper->status)
					       : WEXITSTATUS(keeper->status));
	log_string(", as if a limit or a sandbox of the program had kept it from running");
}

/*
 * Prints a line that a report failed, once, unless `mallow live` makes the report. It makes the
 * last one even if it could not be asked. The helper itself has reported what it found wrong
 * (status 1 and 2).
 */
static void say_failed(const struct keeper *keeper)
{
	static uint32_t said;
	bool gone = keeper->told == -ENOENT || keeper->told == -ECONNREFUSED;

	if (keeper->last ? !gone : keeper->told == 0)
		return;
	if (!keeper->error && WIFEXITED(keeper->status) &&
	    WEXITSTATUS(keeper->status) < TOOL_NO_EXEC)
		return;
	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	log_start(SETTING_LOG_ERROR);
	log_string(keeper->last && config.registry
			   ? "no last report, unless 'mallow live' is still there to make it: "
			   : "no report: ");
	if (keeper->error == TOOL_MISSING) {
		log_string("'");
		log_string(keeper->arguments[0]);
		log_string("' cannot be executed; MALLOW_HELPER names the tool");
	} else {
		say_why(keeper);
		if (!config.registry)
			log_string("; 'mallow live' makes reports in its stead");
	}
	log_end();
}

/* Whether the keeper has ended. Reaps it, unless another thread waits for it. */
static bool has_ended(struct keeper *keeper)
{
	if (keeper->awaited)
		return false;
	if (!keeper->pid)
		return true;
	if (sys_wait4(keeper->pid, WNOHANG | __WALL) == 0)
		return false;
	keeper->pid = 0;
	if (keeper->is_report && keeper->status)
		say_failed(keeper);
	return true;
}

/* A keeper that is not in use, or NULL. From here on: under the lock, in a signal bracket. */
static struct keeper *find_free(void)
{
	for (int i = 0; i < KEEPERS; i++)
		if (has_ended(&keepers[i]))
			return &keepers[i];
	return NULL;
}

/* Starts the keeper. If it is for the last report, the table says first that somebody makes it. */
static void start_keeper(struct keeper *keeper)
{
	long pid;

	if (keeper->last)
		__atomic_store_n(&keeper->header->last_report, LIVE_LAST_REPORT_BEGUN,
				 __ATOMIC_RELAXED);
	pid = tool_start_keeper(&keeper->tool, keeper->stack + STACK_SIZE, run_keeper, keeper);
	keeper->pid = pid > 0 ? (int)pid : 0;
	if (keeper->last)
		keeper->header->keeper = (uint32_t)keeper->pid;
	if (pid > 0)
		return;
	keeper->error = (int)-pid;
	settle_report(keeper);
	say_failed(keeper);
}

bool helper_start(enum helper_sort sort, bool last)
{
	struct signal_bracket bracket;
	struct keeper *keeper;
	bool done = false;

	if (process_system_calls_forbidden())
		return true;
	signal_bracket_begin(&bracket);
	if (file_keep_descriptor(&recording->file) && lock_try(&lock)) {
		keeper = find_free();
		done = keeper != NULL;
		if (keeper) {
			fill_report(keeper, sort, last);
			start_keeper(keeper);
		}
		lock_release(&lock);
	}
	signal_bracket_end(&bracket);
	return done;
}

static struct keeper *start_export(const char *format, int output)
{
	struct signal_bracket bracket;
	struct keeper *keeper = NULL;

	signal_bracket_begin(&bracket);
	if (file_keep_descriptor(&recording->file) && lock_try(&lock)) {
		keeper = find_free();
		if (keeper) {
			keeper->awaited = true;
			fill_export(keeper, format, output);
			start_keeper(keeper);
		}
		lock_release(&lock);
	}
	signal_bracket_end(&bracket);
	return keeper;
}

bool helper_export(const char *format, int output)
{
	struct keeper *keeper = NULL;
	int status;

	if (process_system_calls_forbidden())
		return false;
	for (int tries = 0; !keeper && tries < WAIT_MS; tries++) {
		keeper = start_export(format, output);
		if (!keeper)
			nap_shortly();
	}
	if (!keeper)
		return false;
	while (keeper->pid && sys_wait4(keeper->pid, __WALL) == -EINTR)
		;
	status = keeper->status;
	keeper->pid = 0;
	__atomic_store_n(&keeper->awaited, false, __ATOMIC_RELEASE);
	return status == 0;
}

void helper_reap(void)
{
	if (!lock_try(&lock))
		return;
	for (int i = 0; i < KEEPERS; i++)
		has_ended(&keepers[i]);
	lock_release(&lock);
}

void helper_wait(void)
{
	for (int tries = 0; tries < WAIT_MS; tries++) {
		bool all = true;

		for (int i = 0; i < KEEPERS; i++)
			all &= has_ended(&keepers[i]);
		if (all || process_system_calls_forbidden())
			return;
		nap_shortly();
	}
}

void helper_forget(void)
{
	for (int i = 0; i < KEEPERS; i++) {
		keepers[i].pid = 0;
		keepers[i].awaited = false;
	}
	lock = 0;
}

#define LAST_FD 2

/* Static, because stacks are small, and one thread at a time begins a recording. */
static struct {
	struct tool tool;
	long result; /* of vfork */
	char descriptor[16];
	const char *arguments[5];
	char stack[STACK_SIZE] __attribute__((aligned(16)));
} starting;

/* The keeper. All signals are blocked. */
static void run_sender_keeper(void *argument)
{
	starting.result = tool_vfork(&starting.tool);
	for (;;)
		syscall_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static void fill_sender(void)
{
	struct text text;

	text_init(&text, starting.descriptor, sizeof(starting.descriptor));
	text_number(&text, (uint64_t)recording->file.fd);
	starting.arguments[0] = tool_path();
	starting.arguments[1] = "stream-recording";
	starting.arguments[2] = "--fd";
	starting.arguments[3] = starting.descriptor;
	starting.tool = (struct tool){
		.arguments = starting.arguments,
		.fd = recording->file.fd,
		.output = -1,
		.stderr_is_own = log_stderr_is_own(),
		.alone = true,
	};
	starting.result = -ECHILD;
}

/* Returns 0 or the error number. */
static int start_sender(void)
{
	long keeper;

	fill_sender();
	// The standard descriptors are replaced. The recording's is high, unless so few are
	// allowed.
	if (starting.tool.fd <= LAST_FD)
		return EMFILE;
	keeper = tool_start_keeper(&starting.tool, starting.stack + STACK_SIZE, run_sender_keeper,
				   NULL);
	if (keeper < 0)
		return (int)-keeper;
	while (sys_wait4((int)keeper, __WALL) == -EINTR)
		;
	return starting.result < 0 ? (int)-starting.result : starting.tool.error;
}

void stream_helper_start(void)
{
	int error = start_sender();

	if (!error)
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("the recording is not sent: '");
	log_string(tool_path());
	log_string("' cannot be executed");
	log_error_number(error);
	log_string("; MALLOW_HELPER names the tool");
	log_end();
}
