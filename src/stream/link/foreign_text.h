/* Text that another machine has sent, made fit to be printed, or to be a part of a file's name. */
#ifndef MALLOW_STREAM_LINK_FOREIGN_TEXT_H
#define MALLOW_STREAM_LINK_FOREIGN_TEXT_H

#include <stddef.h>

/*
 * Copies up to room - 1 bytes, whole characters only, up to a NUL or to size bytes, and ends them
 * by a NUL. What is no UTF-8, moves a terminal's cursor, or turns the direction of writing becomes
 * `instead`.
 */
void foreign_text(const void *text, size_t size, char instead, char *ret, size_t room);

#endif
