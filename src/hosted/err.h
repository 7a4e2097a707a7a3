/*
 * Errors of the tool's rooms: a function that can fail returns struct err *, NULL is success,
 * results are untouched on failure. Rooms never print and never exit; cli turns an error into a
 * line of text and a status.
 *
 * An error is owned by whoever received it: passed on or destroyed, once. Out of memory is one
 * static object, so reporting it needs none. Threads: an error belongs to one thread at a time.
 */
#ifndef MALLOW_HOSTED_ERR_H
#define MALLOW_HOSTED_ERR_H

#include <stdbool.h>

struct err;

/* A message without final newline: what, where (file and offset), and what was expected. */
struct err *err_create(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As err_create(), followed by ": " and the text of the error number. err_number() returns it. */
struct err *err_create_errno(int number, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct err *err_no_memory(void);

/* Accepts NULL. */
void err_destroy(struct err *err);

/* Puts "context: " in front of the message. Takes and returns the ownership; NULL stays NULL. */
struct err *err_prefix(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

/* Valid until the error is destroyed. */
const char *err_message(const struct err *err);

/* The errno of err_create_errno(), ENOMEM for err_no_memory(), else 0. */
int err_number(const struct err *err);

/*
 * Whether memory or descriptors were short: that says nothing of what was being looked at, and a
 * later attempt may succeed. Accepts NULL.
 */
bool err_is_shortage(const struct err *err);

#endif
