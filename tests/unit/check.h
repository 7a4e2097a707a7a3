/* What the tests of the tool's rooms share: errors that fail the test with their message. */
#ifndef MALLOW_TESTS_CHECK_H
#define MALLOW_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hosted/err.h"

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		struct err *assert_err_ = (call);                                                  \
                                                                                                   \
		if (assert_err_)                                                                   \
			fail_msg("%s: %s", #call, err_message(assert_err_));                       \
	} while (0)

/* The call fails and its message holds text. */
#define assert_err(call, text)                                                                     \
	do {                                                                                       \
		struct err *assert_err_ = (call);                                                  \
                                                                                                   \
		assert_non_null(assert_err_);                                                      \
		if (!strstr(err_message(assert_err_), (text)))                                     \
			fail_msg("%s: \"%s\" does not hold \"%s\"", #call,                         \
				 err_message(assert_err_), (text));                                \
		err_destroy(assert_err_);                                                          \
	} while (0)

#endif
