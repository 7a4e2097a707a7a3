/* A function as sentences name it: "Cache::put  leaky.cpp:10". */
#ifndef MALLOW_REPORT_OWN_NAME_H
#define MALLOW_REPORT_OWN_NAME_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/*
 * The short name, or the whole one with style->full; and the source without its folder, if it is
 * known. Safe for terminals.
 */
void own_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame);

#endif
