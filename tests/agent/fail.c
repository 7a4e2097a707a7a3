/*
 * System calls of the agent that fail: of each image those from number MALLOW_TEST_FAIL_AT on,
 * MALLOW_TEST_FAIL_COUNT of them (1), with the error MALLOW_TEST_FAIL_ERROR; only those of the
 * number MALLOW_TEST_FAIL_CALL, where that is given. A forked child goes on counting. Writes how
 * many there were to the file MALLOW_TEST_FAIL_LOG at exit.
 */
#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/text.h"
#include "log_count.h"

static uint64_t calls;
static uint64_t first, count, error, only;
static __thread int inside __attribute__((tls_model("initial-exec")));

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = config_environment(name);

	return text ? text_parse(text, NULL) : otherwise;
}

static void read_settings(void)
{
	count = number_of("MALLOW_TEST_FAIL_COUNT", 1);
	error = number_of("MALLOW_TEST_FAIL_ERROR", 0);
	only = number_of("MALLOW_TEST_FAIL_CALL", UINT64_MAX);
	first = number_of("MALLOW_TEST_FAIL_AT", UINT64_MAX);
}

/* What the program asked for by way of ours, and what cannot fail. */
static bool is_programs(long number)
{
	return number == SYS_exit_group || number == SYS_execveat || number == SYS_seccomp ||
	       number == SYS_getpid || number == SYS_getppid || number == SYS_gettid;
}

long syscall_fails(long number)
{
	uint64_t n;

	if (inside || is_programs(number))
		return 0;
	if (!first) {
		inside = 1;
		read_settings();
		inside = 0;
	}
	if (only != UINT64_MAX && only != (uint64_t)number)
		return 0;
	n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	return n >= first && n - first < count ? -(long)error : 0;
}

static __attribute__((destructor)) void report(void)
{
	inside = 1;
	log_count("MALLOW_TEST_FAIL_LOG", "calls=", calls);
}
