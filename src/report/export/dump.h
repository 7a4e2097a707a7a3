/* `mallow trace dump`: the records of a recording, one on each line. */
#ifndef MALLOW_REPORT_EXPORT_DUMP_H
#define MALLOW_REPORT_EXPORT_DUMP_H

#include <stdbool.h>

#include "hosted/buf.h"

/*
 * Writes all streams, merged by time. A line is
 *
 *	SECONDS STREAM OPERATION field=value…
 *
 * `stack=` is a hash of the frames, equal for equal stacks, and `depth=` their number. stacks: the
 * frames follow as `at module+0xoffset`, a line each, innermost first. The dump reads the file
 * itself, because the engine keeps no records. If chunks are damaged, a last line that begins with
 * `#` says so.
 */
struct err *dump_write(struct buf *buf, const char *path, bool stacks);

#endif
