/* A small file of text that the user wrote: suppressions and such. */
#ifndef MALLOW_CLI_TEXT_FILE_H
#define MALLOW_CLI_TEXT_FILE_H

#include "hosted/buf.h"

/* All of it, behind what ret has. May be a pipe. what: "suppressions", for a file that is too
 * large. */
struct err *text_file_read(const char *path, const char *what, struct buf *ret);

#endif
