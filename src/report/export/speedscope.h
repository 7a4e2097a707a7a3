/*
 * The sums of a recording as a file of speedscope (https://www.speedscope.app): a profile for each
 * metric, between which its keys n and p switch. As speedscope's own schema,
 * file-format-schema.json, has it.
 */
#ifndef MALLOW_REPORT_EXPORT_SPEEDSCOPE_H
#define MALLOW_REPORT_EXPORT_SPEEDSCOPE_H

#include "report/export/export_format.h"

/*
 * The metric's profile is shown first. Each profile has the subject's `nodes` widest nodes; what is
 * below them is one frame that says so, so that sums are whole. A metric that is not known has no
 * profile.
 */
struct err *speedscope_write(struct buf *buf, const struct export_subject *subject);

#endif
