/* The code of --open, and the cookie that it is exchanged for. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "server/http/session.h"

static time_t later_s; /* how far the clock was put forward */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int failed = __real_clock_gettime(clock, ret);

	ret->tv_sec += later_s;
	return failed;
}

/* What a browser sends back. */
static bool lets_in(struct session *session, const char *field)
{
	char cookie[SESSION_FIELD];

	strcpy(cookie, field);
	*strchr(cookie, ';') = '\0';
	return session_has(session, cookie);
}

static void test_a_code(void **state)
{
	char code[SESSION_TEXT], field[SESSION_FIELD], after[SESSION_FIELD];
	struct session session;

	assert_ok(session_init(&session));
	session_name(&session, "8080");
	// Nobody has asked for a code: none is right.
	assert_false(session_redeem(&session, ""));
	assert_ok(session_code(&session, code));
	assert_false(session_redeem(&session, ""));
	later_s = 29;
	assert_true(session_redeem(&session, code));
	session_field(&session, field);
	assert_true(lets_in(&session, field));
	// A second use, however late.
	later_s = 3600;
	assert_false(session_redeem(&session, code));
	assert_false(lets_in(&session, field));
	session_field(&session, after);
	assert_true(lets_in(&session, after));

	assert_ok(session_code(&session, code));
	later_s += 31;
	assert_false(session_redeem(&session, code));
	assert_true(lets_in(&session, after));
	session_deinit(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_code)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
