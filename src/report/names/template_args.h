/* Removes the arguments of templates from the names of C++ functions. */
#ifndef MALLOW_REPORT_NAMES_TEMPLATE_ARGS_H
#define MALLOW_REPORT_NAMES_TEMPLATE_ARGS_H

#include "hosted/buf.h"

/* "std::vector<int, A<int> >::push_back(int)" becomes "std::vector<...>::push_back(int)". */
void template_args_strip(struct buf *buf, const char *function);

#endif
