/*
 * Errors of the tool. A function that can fail returns struct err *: NULL is success, and results
 * are untouched on failure. Only cli and server turn an error into text and a status; other rooms
 * never print and never exit.
 *
 * The function that receives an error owns it, and passes it on or destroys it. "Out of memory" is
 * a static object, so reporting it needs no memory. An error belongs to one thread at a time.
 */
#ifndef MALLOW_HOSTED_ERR_H
#define MALLOW_HOSTED_ERR_H

#include <stdbool.h>

struct err;

/*
 * The message says what, where (file and offset) and what was expected, without a newline at its
 * end.
 */
struct err *err_create(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As err_create(), followed by ": " and the text of that errno, which err_number() returns. */
struct err *err_create_errno(int number, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What err_no_memory() returns. */
extern struct err err_static_no_memory;

static inline struct err *err_no_memory(void)
{
	return &err_static_no_memory;
}

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
 * Whether memory or descriptors ran out. Such an error says nothing about the file that was read,
 * and a later attempt may succeed. Accepts NULL.
 */
bool err_is_shortage(const struct err *err);

#endif
