/* A frame of a live report as text: its number in the stack, its address, function and place. */
#ifndef MALLOW_REPORT_LIVE_FRAME_H
#define MALLOW_REPORT_LIVE_FRAME_H

#include "analysis/names/symbolized.h"
#include "report/style.h"

/* What stands for the frames of a backtrace that has none. */
#define LIVE_FRAME_NO_STACK "(no stack)\n"

/*
 * "0 [    0x10001035] cache_put +0x5", and a line below it for each function that was inlined
 * there. Each line has its newline. frame: index; number: 0 for the innermost frame.
 */
struct err *live_frame_put(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   uint32_t frame, unsigned number);

#endif
