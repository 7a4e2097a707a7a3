/*
 * What each address of a recording's stacks is, for programs that have stacks of addresses: those
 * of the C API's reports, and of `mallow trace dump --stacks`.
 */
#ifndef MALLOW_REPORT_EXPORT_FRAMES_H
#define MALLOW_REPORT_EXPORT_FRAMES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * Appends a line for each function that is at an address, the innermost inlined one first:
 *
 *	ADDRESS \t FUNCTION \t FILE:LINE \t MODULE \t KIND
 *
 * The address is as a stack has it, behind the call. KIND is "plumbing" where the function is not
 * the reader's own code. What is not known is empty.
 */
struct err *frames_write(struct buf *buf, struct symbolized *symbolized);

#endif
