/*
 * Text without a C library: appends to a fixed buffer, which always ends in NUL. What does not fit
 * is cut, and `cut` is set.
 */
#ifndef MALLOW_AGENT_GROUND_TEXT_H
#define MALLOW_AGENT_GROUND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *start;
	size_t length;
	size_t room; /* bytes at start */
	bool cut;
};

/* room >= 1. */
void text_init(struct text *text, char *buffer, size_t room);

void text_char(struct text *text, char c);
void text_string(struct text *text, const char *string);
void text_bytes(struct text *text, const char *bytes, size_t size);
void text_number(struct text *text, uint64_t value);
void text_hex(struct text *text, uint64_t value, int digits);

/* The decimal number at the start of digits. *end: after the last digit; end may be NULL. */
uint64_t text_parse(const char *digits, const char **end);

/* The part of the path after the last slash. */
const char *text_base_name(const char *path);

#endif
