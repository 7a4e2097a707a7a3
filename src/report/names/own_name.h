/* A function as sentences name it: "Cache::put  leaky.cpp:10". */
#ifndef MALLOW_REPORT_NAMES_OWN_NAME_H
#define MALLOW_REPORT_NAMES_OWN_NAME_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/*
 * The short name, or the whole one with style->full; and the source without its folder, if it is
 * known. Safe for terminals.
 */
void own_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame);

/* Whether the name of a call says of which type: "std::make_shared<Session>". */
bool own_name_has_type(const struct named_frame *call);

/* The same without the source, with at most the first of each list of template arguments. */
void own_name_put_call(struct buf *buf, const struct style *style, const struct named_frame *call);

#endif
