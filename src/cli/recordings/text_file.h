/* Reads a small text file that the user wrote, such as suppressions. */
#ifndef MALLOW_CLI_RECORDINGS_TEXT_FILE_H
#define MALLOW_CLI_RECORDINGS_TEXT_FILE_H

#include "hosted/buf.h"

/*
 * Appends the whole file to ret. It may be a pipe. what: "suppressions", for the message about a
 * file that is too large.
 */
struct err *text_file_read(const char *path, const char *what, struct buf *ret);

#endif
