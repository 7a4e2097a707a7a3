#include "coredump/turned.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "trace/byte_order.h"
#include "trace/chunk_check.h"

#define TURNED_MAX (UINT64_C(1) << 30)

struct err *turned_is_needed(const struct byte_source *source, bool *ret)
{
	uint8_t head[offsetof(struct trace_header, byte_order) + 1];
	size_t got;
	struct err *err = byte_source_read(source, 0, head, sizeof(head), &got);

	if (!err)
		*ret = got == sizeof(head) && bytes_u64(head) == TRACE_MAGIC &&
		       head[sizeof(head) - 1] == TRACE_BIG_ENDIAN;
	return err;
}

struct err *turned_read(const struct byte_source *source, uint8_t **bytes, struct byte_source *ret)
{
	auto_free uint8_t *turned = NULL;
	uint64_t size;
	size_t got;
	struct err *err = byte_source_size(source, &size);

	if (err)
		return err;
	// A damaged place makes a small table look huge.
	if (size > TURNED_MAX)
		return err_create("%s: a big-endian recording of %" PRIu64
				  " bytes: at most 1 GiB is read",
				  source->name, size);
	turned = calloc(1, (size_t)size + BYTE_ORDER_HEADER);
	if (!turned)
		return err_no_memory();
	err = byte_source_read(source, 0, turned, (size_t)size, &got);
	if (err)
		return err;
	byte_order_turn_recording(turned, (size_t)size);
	*ret = byte_source_memory(source->name, turned, (size_t)size);
	*bytes = steal(&turned);
	return NULL;
}
