/* Words of commands that people copy into a shell. */
#ifndef MALLOW_REPORT_WORDS_SHELL_WORD_H
#define MALLOW_REPORT_WORDS_SHELL_WORD_H

#include "hosted/buf.h"

/* Writes a word, quoted if the shell would take it for something else; safe for terminals. */
void shell_word_put(struct buf *buf, const char *word);
/* The same for a path, which no command takes for an option. */
void shell_path_put(struct buf *buf, const char *path);

#endif
