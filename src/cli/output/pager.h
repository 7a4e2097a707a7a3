/*
 * Shows a text that is longer than the terminal in a pager, as git does: what PAGER says, else
 * less, which ends by itself where all fits. Shorter texts, and those that go to no terminal, are
 * written as they are.
 */
#ifndef MALLOW_CLI_OUTPUT_PAGER_H
#define MALLOW_CLI_OUTPUT_PAGER_H

#include "hosted/buf.h"

struct pager;

/* From now on there is no pager (--no-pager). */
void pager_forbid(void);

/* *ret: for a text on standard output. NULL: none is wanted, as it goes to no terminal. */
struct err *pager_create(struct pager **ret);

/* The buf writes through the pager, and lets no hidden character through. */
void pager_take_over(struct pager *pager, struct buf *buf);

/* Shows the rest, waits until the user has seen it, and frees the pager. */
struct err *pager_finish(struct pager *pager);

#endif
