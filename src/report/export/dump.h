/* `mallow trace dump`: the records of a recording as they are, one a line. */
#ifndef MALLOW_REPORT_EXPORT_DUMP_H
#define MALLOW_REPORT_EXPORT_DUMP_H

#include <stdbool.h>

#include "hosted/buf.h"

/*
 * All streams merged by time. A line is
 *
 *	SECONDS STREAM OPERATION field=value…
 *
 * where `stack=` is a hash of the frames, equal for equal stacks, and `depth=` their number;
 * stacks: the frames follow as `at module+0xoffset`, a line each, innermost first. Unlike the
 * other views it reads the file itself, since the engine keeps no records. Where a chunk is
 * damaged a line beginning with `#` says so at the end.
 */
struct err *dump_write(struct buf *buf, const char *path, bool stacks);

#endif
