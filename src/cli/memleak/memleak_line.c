#include "cli/memleak/memleak_line.h"

#include <inttypes.h>
#include <string.h>

void memleak_line_write(struct buf *out, const struct event *event)
{
	buf_shown(out, event->name, strnlen(event->name, sizeof(event->name)));
	buf_printf(out, "-%u [%03u] %" PRIu64 ".%06u: ", event->tid, event->cpu,
		   event->time_ns / 1000000000, (unsigned)(event->time_ns / 1000 % 1000000));
	switch (event->kind) {
	case EVENT_ENTERED:
		buf_printf(out, "alloc entered, size = %" PRIu64 "\n", event->size);
		break;
	case EVENT_EXITED:
		buf_printf(out, "alloc exited, size = %" PRIu64 ", result = %" PRIx64 "\n",
			   event->size, event->address);
		break;
	default:
		buf_printf(out, "free entered, address = %" PRIx64 ", size = %" PRIu64 "\n",
			   event->address, event->size);
	}
}
